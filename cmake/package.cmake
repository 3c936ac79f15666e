# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` lays down, and how find_package(posenc) finds it again.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(posenc_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/posenc")
install(TARGETS posenc EXPORT posencTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY src/posenc DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.hpp" PATTERN wide EXCLUDE)
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(EXPORT posencTargets NAMESPACE posenc:: DESTINATION "${posenc_package_dir}")

configure_package_config_file(cmake/posencConfig.cmake.in "${CMAKE_BINARY_DIR}/posencConfig.cmake"
  INSTALL_DESTINATION "${posenc_package_dir}" NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may break what stands on it.
write_basic_package_version_file("${CMAKE_BINARY_DIR}/posencConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/posencConfig.cmake" "${CMAKE_BINARY_DIR}/posencConfigVersion.cmake" DESTINATION "${posenc_package_dir}")
