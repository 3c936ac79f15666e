// SPDX-License-Identifier: Apache-2.0
// The same experiment in PyTorch. What an encoding does is given as numbers by the package, so that no formula stands here twice.
import { manifest } from '../../engine.ts';
import { actsAt, type EncodingInfo } from '../../model/manifest.ts';
import { fitted, optionsOf } from '../../model/settings.ts';
import { optionsText, randomText } from '../../parts/random-code.ts';
import type { Who } from '../../train/protocol.ts';
import { fixed, type Setup } from '../../train/run.ts';
import { answers, delay, examLengths, vocabulary } from '../../train/tasks.ts';

/** Expressions for what an encoding is, where numbers for places or distances say all of it. */
function placeText(info: EncodingInfo): string {
  const { width, heads } = fixed;
  const layer = { width, heads, headDim: width / heads };
  const settings = fitted(info, layer);
  const made = `pe.encoding('${info.id}', ${optionsText(info, settings).text})`;
  // As the decoder of the page: only tables that are there can be learned.
  const options = optionsOf(info, settings);
  const trained = info.gradients.some((name) => typeof options[name] === 'object');
  if (info.sites.length === 0) return '() => ({})';
  if (info.sites.length > 1 || info.remapsDistance) return '() => null';
  if (actsAt(info, 'embed'))
    return `() => ({ rows: tensor(${made}.table(places)), trained: ${trained} })`;
  if (actsAt(info, 'rotate'))
    return `() => { const { inverseFrequencies, layout } = ${made}.plan(); return { frequencies: [...inverseFrequencies], layout }; }`;
  // From the last place backwards, so by distance. Of what is learned, distances share numbers that would come apart here.
  return actsAt(info, 'score') && info.relative && !trained
    ? `() => ({ bias: tensor(${made}.bias([places.at(-1)], [...places].reverse())), trained: false })`
    : '() => null';
}

export function torchCode({ task, longest, steps }: Setup, who: readonly Who[]): string {
  const ids = [...new Set(who.map(({ id }) => id))];
  const infos = ids.flatMap((id) => manifest.find((one) => one.id === id) ?? []);
  const lengths = examLengths(longest);
  const places = (task === 'copy' ? 1 : 2) * (lengths.at(-1) ?? longest);
  return `# Train short, test long, in PyTorch: the task, the decoder and the training of the page, with other random numbers. So
# curves are alike, not equal. What an encoding does comes as numbers from the package: npm install posenc
import json
import math
import random
import subprocess

import torch
from torch import nn
from torch.nn import functional as F

PLACES = r'''
import { load } from 'posenc';
${randomText}
const pe = await load();
const places = Array.from({ length: ${places} }, (_, i) => i);
const tensor = ({ shape, data }) => ({ shape: [...shape], data: [...data] });
const made = {
${infos.map((info) => `  ${JSON.stringify(info.id)}: ${placeText(info)},`).join('\n')}
};
const told = Object.entries(made).map(([id, make]) => {
  // What looks at queries or keys is no list of numbers.
  try { return [id, make()]; } catch { return [id, null]; }
});
console.log(JSON.stringify(Object.fromEntries(told)));
'''
TASK, LONGEST, STEPS, SEEDS = '${task}', ${longest}, ${steps}, ${JSON.stringify([...new Set(who.map((one) => one.seed))])}
WIDTH, HEADS, SEQUENCES, RATE, WARM_UP = ${fixed.width}, ${fixed.heads}, ${fixed.sequences}, ${fixed.rate}, ${fixed.warmUp}
DELAY, VOCABULARY, ANSWERS = ${delay}, ${vocabulary[task]}, ${answers[task]}
HEAD = WIDTH // HEADS


def batch(count, n, rng):
    """Tokens, tokens beside them (-1: none), and the answer each place asks for (-1: none)."""
    tokens, beside, wanted = [], [], []
    for _ in range(count):
        if TASK == 'copy':
            said = [rng.randrange(VOCABULARY) for _ in range(n)]
            tokens.append(said)
            beside.append([-1] * n)
            wanted.append([-1] * DELAY + said[: n - DELAY])
        else:
            keys = rng.sample(range(VOCABULARY - ANSWERS), n)
            values = {key: rng.randrange(ANSWERS) for key in keys}
            asked = rng.sample(keys, n)
            tokens.append(keys + asked)
            beside.append([VOCABULARY - ANSWERS + values[key] for key in keys] + [-1] * n)
            wanted.append([-1] * n + [values[key] for key in asked])
    return torch.tensor(tokens), torch.tensor(beside), torch.tensor(wanted)


def numbers(tensor, trained):
    return nn.Parameter(torch.tensor(tensor['data']).reshape(tensor['shape']), requires_grad=trained)


class Decoder(nn.Module):
    def __init__(self, place):
        super().__init__()
        self.place = place
        for name in ('rows', 'bias'):
            if name in place:
                setattr(self, name, numbers(place[name], place['trained']))
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        nn.init.normal_(self.embedding.weight, std=0.5)
        self.before, self.between, self.last = (nn.LayerNorm(WIDTH) for _ in range(3))
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, ANSWERS)
        for one, gain in ((self.qkv, 1), (self.out, 0.5), (self.up, 1), (self.down, 0.5), (self.head, 1)):
            nn.init.normal_(one.weight, std=gain / math.sqrt(one.in_features))
            nn.init.zeros_(one.bias)

    def turned(self, x):
        """Pairs of channels turned by position times frequency."""
        frequencies = torch.tensor(self.place['frequencies'])
        angles = torch.arange(x.shape[-2]).float()[:, None] * frequencies
        cos, sin, r = angles.cos(), angles.sin(), len(frequencies)
        apart = self.place['layout'] == 'interleaved'
        a, b = (x[..., 0 : 2 * r : 2], x[..., 1 : 2 * r : 2]) if apart else (x[..., :r], x[..., r : 2 * r])
        pair = (a * cos - b * sin, a * sin + b * cos)
        turned = torch.stack(pair, -1).flatten(-2) if apart else torch.cat(pair, -1)
        return torch.cat((turned, x[..., 2 * r :]), -1)

    def forward(self, tokens, beside):
        n = tokens.shape[1]
        x = self.embedding(tokens) + self.embedding(beside.clamp(min=0)) * (beside >= 0)[..., None]
        if 'rows' in self.place:
            x = x + self.rows[:n]
        q, k, v = self.qkv(self.before(x)).unflatten(-1, (3, HEADS, HEAD)).permute(2, 0, 3, 1, 4)
        if 'frequencies' in self.place:
            q, k = self.turned(q), self.turned(k)
        scores = q @ k.transpose(-1, -2) / math.sqrt(HEAD)
        distance = torch.arange(n)[:, None] - torch.arange(n)
        if 'bias' in self.place:
            scores = scores + self.bias.flatten(1)[:, distance.clamp(min=0)]
        weights = scores.masked_fill(distance < 0, -math.inf).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).flatten(-2))
        x = x + self.down(F.relu(self.up(self.between(x))))
        return self.head(self.last(x))


def train(place, seed):
    torch.manual_seed(seed)
    rng = random.Random(seed)
    decoder = Decoder(place)
    adam = torch.optim.Adam([one for one in decoder.parameters() if one.requires_grad], lr=RATE)
    least = DELAY + 1 if TASK == 'copy' else 1
    for step in range(STEPS):
        for group in adam.param_groups:
            group['lr'] = RATE * min(1, (step + 1) / WARM_UP)
        tokens, beside, wanted = batch(SEQUENCES, rng.randint(least, LONGEST), rng)
        loss = F.cross_entropy(decoder(tokens, beside).flatten(0, 1), wanted.flatten(), ignore_index=-1)
        adam.zero_grad()
        loss.backward()
        adam.step()
    return decoder


@torch.no_grad()
def share(decoder, n):
    tokens, beside, wanted = batch(${fixed.exam}, n, random.Random(n))
    right = decoder(tokens, beside).argmax(-1) == wanted
    return right.sum().item() / (wanted >= 0).sum().item()


told = json.loads(subprocess.check_output(['node', '--input-type=module', '-e', PLACES]))
for name, place in told.items():
    if place is None:
        print(name, 'is more than numbers for places or distances, and left out')
        continue
    for seed in SEEDS:
        decoder = train(place, seed)
        print(name, seed, {n: round(share(decoder, n), 3) for n in ${JSON.stringify(lengths)}})
`;
}
