// Two traces are compared by the names of regions, of which one trace may have several at different places.
import type { Profile, ProfileRow } from "../api";
import { count } from "../dom";

/** Named is what of a profile's row can be added up by name. */
export type Named = Pick<ProfileRow, "kind" | "region" | "name" | "count" | "exclusive">;

/** mergeByName adds up the rows of regions of one name, calls and claims apart; the colour is that of the first. */
export function mergeByName(rows: readonly Named[]): Named[] {
  const out = new Map<string, Named>();
  for (const r of rows) {
    const key = `${r.kind === "claim"} ${r.name}`,
      o = out.get(key);
    if (!o) {
      out.set(key, { ...r });
      continue;
    }
    o.count += r.count;
    o.exclusive = String(BigInt(o.exclusive) + BigInt(r.exclusive));
  }
  return [...out.values()];
}

/** leftOut says what a profile lacks, "" if it has all; merged are sums of rows by name. */
export function leftOut(p: Profile, merged: boolean): string {
  const n = p.left.rows;
  if (n === 0) return "";
  const what = `${count(n)} ${n === 1 ? "row" : "rows"} with less exclusive time`;
  return merged ? `${what} ${n === 1 ? "is" : "are"} not in these sums` : `${what} ${n === 1 ? "is" : "are"} left out`;
}
