// The panels in the order of their tabs.
import type { Panel } from "../dock";
import { overview } from "./overview";
import { profile } from "./profile";

/** panels are all tabs of the dock. */
export const panels: readonly Panel[] = [overview, profile];
