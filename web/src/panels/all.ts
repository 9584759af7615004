// The panels in the order of their tabs.
import type { Panel } from "../dock";
import { calltree } from "./calltree";
import { compare } from "./compare";
import { counters } from "./counters";
import { defects } from "./defects";
import { flame } from "./flame";
import { locations } from "./locations";
import { messages } from "./messages";
import { notes } from "./notes";
import { overview } from "./overview";
import { profile } from "./profile";
import { structure } from "./structure";
import { utilisation } from "./utilisation";

/** makePanels makes the tabs of the dock; with several traces there is one to compare them. */
export function makePanels(traces: number): Panel[] {
  return [overview(), profile(), ...(traces > 1 ? [compare()] : []), calltree(), flame(), messages(), locations(), utilisation(), counters(), structure(), defects(), notes()];
}
