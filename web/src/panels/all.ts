// The panels in the order of their tabs.
import type { Panel } from "../dock";
import type { Source } from "../extras";
import { behaviour, behaviourSource } from "./behaviour";
import { calltree } from "./calltree";
import { calls } from "./calls";
import { counters } from "./counters";
import { defects } from "./defects";
import { diff } from "./diff";
import { distance, distanceSource } from "./distance";
import { efficiency } from "./efficiency";
import { findings } from "./findings";
import { flame } from "./flame";
import { flow, flowSource } from "./flow";
import { locations } from "./locations";
import { messages } from "./messages";
import { notes } from "./notes";
import { overview } from "./overview";
import { path } from "./path";
import { profile } from "./profile";
import { structure } from "./structure";
import { utilisation } from "./utilisation";
import { verification, verificationSource } from "./verification";
import { waits } from "./waits";

/** makePanels creates the panels of the dock. */
export function makePanels(): Panel[] {
  return [
    overview(),
    findings(),
    profile(),
    calls(),
    diff(),
    calltree(),
    flame(),
    messages(),
    waits(),
    path(),
    efficiency(),
    locations(),
    utilisation(),
    counters(),
    structure(),
    verification(),
    behaviour(),
    distance(),
    flow(),
    defects(),
    notes(),
  ];
}

/** makeSources creates the sources of extras. */
export function makeSources(): Source[] {
  return [verificationSource, behaviourSource, distanceSource, flowSource];
}
