// One agent in two environments: what differs, and which hash says so. Run it with: node compare.ts
import {
  computeFullCapabilityLink,
  diffToolRefs,
  explainCapabilityLinkRelationship,
  formatHashShort,
} from '@bulla/core/capability';
import { agent } from './agent.ts';

const [free, pro] = await Promise.all(
  (['free', 'pro'] as const).map((tier) => computeFullCapabilityLink({ agent, ctx: { env: { tier } } })),
);
for (const [name, { link, disabled }] of Object.entries({ free: free!, pro: pro! })) {
  console.log(
    `${name}: static ${formatHashShort(link.staticHash)}, runtime ${formatHashShort(link.runtimeHash)}`,
  );
  for (const { place, deniedBy } of disabled) console.log(`  ${place} is denied by ${deniedBy.join(', ')}`);
}
console.log(explainCapabilityLinkRelationship(free!.link, pro!.link));
for (const { toolKey } of diffToolRefs(free!.link.toolRefs, pro!.link.toolRefs).onlyInSecond)
  console.log(`only in pro: ${toolKey}`);
