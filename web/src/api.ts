// Types of the server's JSON, and the client. Times are decimal strings in JSON, and BigInt in the
// rest of the page.

import { drop, later } from "./later";

/** TraceState is the server's progress with a trace. */
export type TraceState = "new" | "indexing" | "ready" | "failed";
/** TraceEntry is an entry of the list of traces. */
export interface TraceEntry {
  id: string;
  name: string;
  path: string;
  format: string;
  bytes: number;
  state: TraceState;
  progress: number;
  error: string;
}
/** TraceList is the answer of /api/traces. */
export interface TraceList {
  version: string;
  readOnly: boolean;
  traces: TraceEntry[];
}
/** GroupInfo is a machine, node or process that holds tracks. */
export interface GroupInfo {
  name: string;
  kind: string;
  parent: number;
}
/** TrackKind is the kind of a track. */
export type TrackKind = "location" | "resource" | "counter" | "communicator";
/** TrackInfo is a track: a row of the time line, before groups are folded. */
export interface TrackInfo {
  kind: TrackKind;
  name: string;
  sort: string;
  id: string;
  group: number;
  parent: number;
  depth: number;
  spans: number;
  events: number;
  instants: number;
  first: string;
  last: string;
  unit: string;
  capacity: number;
  low: number;
  high: number;
  style: string;
}
/** RegionInfo describes a region; file and line, if known, give the place of its definition. */
export interface RegionInfo {
  name: string;
  group: string;
  color: number;
  file?: string;
  line?: number;
}
/** TraceMeta describes a ready trace. While the trace is indexed, only a part of it is set. */
export interface TraceMeta extends TraceEntry {
  etag: string;
  /**
   * color is the attribute whose values stand for regions, or "" for regions; attributes lists the
   * possible values.
   */
  color: string;
  attributes: string[];
  clock: { num: number | string; den: number | string };
  origin: string;
  epoch: string;
  length: string;
  events: number;
  spans: number;
  links: number;
  groups: GroupInfo[];
  tracks: TrackInfo[];
  regions: RegionInfo[];
  palettes: { light: string[]; dark: string[] };
  defects: number;
  /** overview has sums that the trace holds of its own events; set while the trace is indexed. */
  overview?: Overview;
}
/**
 * Overview has sums that a trace holds of its own events. missing is the largest amount by which a
 * time may be too small. If `to` is set, the sums cover the time up to it, on the trace's clock,
 * and events counts only visits and messages.
 */
export interface Overview {
  regions: { name: string; count: number; inclusive: string; exclusive: string }[] | null;
  locations: { name: string; events: number }[] | null;
  events: number;
  missing: string;
  to?: string;
}
/** SpanInfo describes one span exactly. */
export interface SpanInfo {
  track: number;
  depth: number;
  region: number;
  name: string;
  group: string;
  start: string;
  end: string;
  open: boolean;
}
/** Attribute is a named value of a span or an instant. */
export interface Attribute {
  name: string;
  value: string;
}
/** Around is a span that contains another one. */
export interface Around {
  region: number;
  name: string;
  start: string;
  end: string;
  depth: number;
}
/** LinkEnd is one end of a link. */
export interface LinkEnd {
  track: number;
  time: string;
}
/**
 * LinkInfo is a message, a dependency or a fork, or a bundle of `count` links. alone marks a send
 * without a receive, and unsent a receive without a send.
 */
export interface LinkInfo {
  id: string;
  kind: string;
  name: string;
  from: LinkEnd;
  to: LinkEnd;
  count: number;
  bytes: number;
  tag: string | number;
  communicator: string | number;
  alone?: boolean;
  unsent?: boolean;
  attributes?: Attribute[] | null;
}
/** LinkPoint is the event or claim at an end of a link; kind is "" if it is unknown. */
export interface LinkPoint {
  kind: string;
  name: string;
  attributes: Attribute[] | null;
}
/**
 * LinkDetails is the answer of /link. partial is set if something is missing because reading the
 * trace took too long.
 */
export interface LinkDetails {
  link: LinkInfo;
  from: LinkPoint;
  to: LinkPoint;
  partial: boolean;
}
/**
 * SpanDetails is the answer of /span. partial is set if attributes are missing because reading the
 * trace took too long.
 */
export interface SpanDetails {
  span: SpanInfo;
  attributes: Attribute[] | null;
  partial: boolean;
  around: Around[] | null;
  links: LinkInfo[] | null;
}
/** InstantDetails is the answer of /instant; partial as in SpanDetails. */
export interface InstantDetails {
  time: string;
  name: string;
  kind: string;
  attributes: Attribute[] | null;
  partial: boolean;
}
/** LinkSet is the answer of /links. */
export interface LinkSet {
  total: number;
  shown: number;
  bundled: boolean;
  links: LinkInfo[] | null;
}
/**
 * ProfileRow sums up the spans of a region, or its claims of resources. The mean is sum divided by
 * count, because inclusive counts nested spans once.
 */
export interface ProfileRow {
  kind?: string;
  track: number;
  group: number;
  region: number;
  name: string;
  count: number;
  inclusive: string;
  exclusive: string;
  min: string;
  max: string;
  sum: string;
}
/** Profile is the answer of /profile; left sums up the rows that the limit omits. */
export interface Profile {
  rows: ProfileRow[] | null;
  left: { rows: number; exclusive: string; held: string };
}
/** PathsLeft sums up omitted call paths. */
export interface PathsLeft {
  paths: number;
  exclusive: string;
}
/**
 * CallNode is a call path. region is -1 where attribute values stand for regions; call is the region
 * of the trace in any case. longest is the visit that took max, and left sums up the omitted paths
 * below this one.
 */
export interface CallNode {
  region: number;
  call: number;
  name: string;
  count: number;
  inclusive: string;
  exclusive: string;
  min: string;
  max: string;
  longest?: { track: number; time: string };
  children: CallNode[] | null;
  left?: PathsLeft;
}
/** CallTree is the answer of /calltree: the paths with most inclusive time. */
export interface CallTree {
  roots: CallNode[] | null;
  paths: number;
  left: PathsLeft;
}
/**
 * MatrixCell sums up the messages from one track to another. min, max and sum are times of the
 * received messages, of which there are matched.
 */
export interface MatrixCell {
  source: number;
  destination: number;
  count: number;
  bytes: number;
  matched: number;
  min: string;
  max: string;
  sum: string;
}
/** StateTimes has the ticks in each state. */
export interface StateTimes {
  busy: string;
  overhead: string;
  idle: string;
}
/** States is the answer of /states: the sums of all processors, and the times by track. */
export interface States extends StateTimes {
  processors: number;
  rows: (StateTimes & { track: number })[];
}
/** CounterRow summarises the values of a counter or signal; unknown values are missing. */
export interface CounterRow {
  track: number;
  samples: number;
  first?: number;
  last?: number;
  min?: number;
  max?: number;
  mean?: number;
  holding: "next" | "last" | "point" | "path";
  increase?: number;
  rate?: number;
}
/**
 * WaitShare is the part of a pattern of waits that a region or communicator (name), a call path, a
 * location (track) or a pair has; cause is the track that is waited for.
 */
export interface WaitShare {
  name?: string;
  path?: string[];
  track?: number;
  cause?: number;
  count: number;
  time: string;
}
/** WaitShares lists them; left sums up those that are left out. */
export interface WaitShares {
  rows: WaitShare[];
  left: { rows: number; count: number; time: string };
}
/**
 * WaitInfo is a single wait. depth is that of the call in which the location waits, causeDepth that of the call that
 * ends the wait; -1 if unknown.
 */
export interface WaitInfo {
  track: number;
  depth: number;
  path: string[];
  begin: string;
  time: string;
  cause: number;
  causeDepth: number;
  causeTime: string;
}
/** WaitPattern is a type of wait state; partOf is the pattern that includes its waits, or "". */
export interface WaitPattern {
  pattern: string;
  partOf: string;
  count: number;
  time: string;
  median: string;
  max: string;
  regions: WaitShares;
  paths: WaitShares;
  locations: WaitShares;
  communicators: WaitShares;
  pairs: WaitShares;
  worst: WaitInfo[];
}
/** Waits is the answer of /waits; missing says why no wait can be judged, or is "". */
export interface Waits {
  missing: string;
  locations: number;
  time: string;
  judged: number;
  waiting: string;
  patterns: WaitPattern[];
  late: { communicator: string; track: number; operations: number; of: number; lost: string }[];
  clocks: { messages: number; operations: number; worst: string };
  unjudged: { what: string; count: number; reason: string }[];
}
/** Factors are POP's standard factors of efficiency, from 0 to 1. */
export interface Factors {
  parallel: number;
  "load-balance": number;
  communication: number;
  serialisation: number;
  transfer: number;
}
/** Factor is a factor of efficiency with its name; its parts follow it, one level further in. */
export interface Factor {
  name: string;
  level: number;
  value: number;
}
/**
 * Efficiency is the answer of /efficiency; missing says why there are no factors, or is "". hybrid is
 * empty for programs with one thread in each process.
 */
export interface Efficiency {
  missing: string;
  processes: number;
  threads: number;
  runtime: string;
  ideal: string;
  useful: string;
  usefulMax: string;
  factors: Factor[];
  hybrid: Factor[];
  sentences: string[];
}
/**
 * WaitIntervals is the answer of /waits/intervals: begins and ends of waits, in turns; left is the number
 * of those that are too short to be kept.
 */
export interface WaitIntervals {
  missing: string;
  left: number;
  tracks: { track: number; times: string[] }[];
}
/** CriticalPath is the answer of /path; missing says why there is none, or is "". */
export interface CriticalPath {
  missing: string;
  /** claims is set for a trace of claims, whose path is that of the constraint graph. */
  claims?: { claims: number; dependencies: number; inferred: number };
  begin: string;
  end: string;
  length: string;
  runtime: string;
  count: number;
  regions: { name: string; time: string; imbalance: number; claims: number }[];
  locations: { track: number; time: string }[];
  gains: { region: string; half: string; curve: string[] }[];
  factors: number[];
  pieces: { track: number; from: string; to: string; by: string }[];
}
/** PathLine is the answer of /path/line; joined is set if each piece leads to the next one. */
export interface PathLine {
  missing: string;
  joined: boolean;
  pieces: { track: number; from: string; to: string }[];
}
/** Finding is a loss with its cause. path and tracks tell where it is; both may be empty. */
export interface Finding {
  id: "late" | "lock" | "noise" | "slowing" | "transfer" | "startup" | "serial" | "wrong-order";
  title: string;
  lossShare: number;
  gain: string;
  gainShare: number;
  path: string[];
  tracks: number[];
  evidence: string[];
  advice: string;
  confidence: "high" | "medium" | "low";
}
/** Explanation is the answer of /explain; missing says why nothing can be explained, or is "". */
export interface Explanation {
  missing: string;
  ran?: {
    processes: number;
    threads: number;
    runtime: string;
    regions: { region: string; time: string; share: number }[];
  };
  verdict: string;
  factors?: Factors;
  findings: Finding[];
  unjudged: string[];
}
/** LocationRow sums up the activity of a location; busy is the time in any region, or with any claim. */
export interface LocationRow {
  track: number;
  events: number;
  spans: number;
  busy: string;
  exclusive: { region: number; ticks: string }[] | null;
  sent: number;
  received: number;
  sentBytes: number;
  receivedBytes: number;
}
/** Utilisation is the average state of the locations for each column, from 0 to 1. */
export interface Utilisation {
  width: number;
  busy: number[];
  overhead: number[];
  idle: number[];
}
/** Defect is a defect that reading the trace found. */
export interface Defect {
  rule: string;
  severity: string;
  message: string;
  file: string;
  position: string;
  time: string;
  track: number;
}
/** Note is a bookmark at a time or window. */
export interface Note {
  id: string;
  from: string;
  to: string;
  track: number;
  text: string;
  created: string;
}

/** ApiError is an unsuccessful answer of the server; its message is the server's text. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** isNoContent reports whether the server found nothing at the place, which is not a failure. */
export function isNoContent(e: unknown): boolean {
  return e instanceof ApiError && e.status === 204;
}

/** isAbort reports whether the page itself cancelled a request. */
export function isAbort(e: unknown): boolean {
  return e instanceof DOMException && e.name === "AbortError";
}

/** errorText returns the text of an error. */
export function errorText(e: unknown): string {
  if (e instanceof ApiError) return e.message;
  if (e instanceof TypeError) return "The server does not answer: is weft still running?";
  return e instanceof Error ? e.message : String(e);
}

/** statusText returns a text for answers without one, from the server or a proxy. */
function statusText(status: number, text: string): string {
  switch (status) {
    case 401:
      return "This page's token is not valid any more: open the address that weft printed.";
    case 403:
      return "The server refuses this page's address.";
    case 404:
      return "The server has nothing there.";
    case 409:
      return "The trace is being indexed anew.";
    case 503:
      return "The server is busy: try again in a moment.";
    default:
      return status >= 500
        ? `The server failed (${status}${text ? " " + text : ""}); its output may say why.`
        : `The server refused the request (${status}${text ? " " + text : ""}).`;
  }
}

/** ranges formats ascending track numbers as "0-63,70". */
export function ranges(tracks: readonly number[]): string {
  const out: string[] = [];
  for (let i = 0; i < tracks.length;) {
    let j = i;
    while (j + 1 < tracks.length && tracks[j + 1] === tracks[j] + 1) j++;
    out.push(i === j ? String(tracks[i]) : `${tracks[i]}-${tracks[j]}`);
    i = j + 1;
  }
  return out.join(",");
}

/** baseID returns the id of a trace without the attribute that colours it. */
export function baseID(id: string): string {
  return id.split("~", 1)[0];
}

type Query = Record<string, string | number | bigint | undefined>;

/**
 * Client sends requests to the server and keeps track of pending ones, so that the page knows when
 * it is at rest.
 */
export class Client {
  /** inFlight has the paths of pending requests. */
  readonly inFlight: string[] = [];
  /** onChange is called whenever inFlight changes. */
  onChange: () => void = () => undefined;
  /** onLost is called with the reason when the server stops answering, and with "" when it answers again. */
  onLost: (why: string) => void = () => undefined;
  /** onReindex is called when the index of a trace is gone and the server rebuilds it. */
  onReindex: () => void = () => undefined;

  private async request(path: string, query: Query, init: RequestInit): Promise<Response> {
    const q = new URLSearchParams();
    for (const [k, v] of Object.entries(query)) if (v !== undefined) q.set(k, String(v));
    const text = q.toString();
    const url = "api/" + path + (text ? "?" + text : "");
    for (let attempt = 0; ; attempt++) {
      let r: Response;
      try {
        r = await fetch(url, { credentials: "same-origin", ...init });
      } catch (e) {
        if (!isAbort(e)) this.onLost(errorText(e));
        throw e;
      }
      if (r.status !== 401) this.onLost("");
      if (r.status === 204) throw new ApiError("Nothing is there.", 204);
      if (r.ok) return r;
      if (r.status === 503 && attempt < 5) {
        const after = Math.min(10, Number(r.headers.get("Retry-After") ?? "1") || 1);
        await sleep("a server that is busy", after * 1000 * (0.5 + Math.random()), init.signal ?? undefined);
        continue;
      }
      let message = statusText(r.status, r.statusText);
      try {
        const v: unknown = await r.json();
        if (typeof v === "object" && v !== null && "error" in v && typeof v.error === "string" && v.error)
          message = v.error;
      } catch {
        /** use the status */
      }
      if (r.status === 401) this.onLost(statusText(401, ""));
      if (r.status === 409) this.onReindex();
      throw new ApiError(message, r.status);
    }
  }

  private async counted<T>(path: string, work: () => Promise<T>): Promise<T> {
    this.inFlight.push(path);
    this.onChange();
    try {
      return await work();
    } finally {
      this.inFlight.splice(this.inFlight.indexOf(path), 1);
      this.onChange();
    }
  }

  /** json requests a JSON document. The shape of the answer is not checked. */
  json<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
    return this.counted(path, async () => (await (await this.request(path, query, { signal })).json()) as T);
  }

  /** binary requests a tile. */
  binary(path: string, query: Query, signal?: AbortSignal): Promise<ArrayBuffer> {
    return this.counted(path, async () => (await this.request(path, query, { signal })).arrayBuffer());
  }

  /** post uploads files and returns the server's answer. */
  post<T>(path: string, body: FormData): Promise<T> {
    return this.counted(path, async () => (await (await this.request(path, {}, { method: "POST", body })).json()) as T);
  }

  /** put stores a JSON document. */
  put(path: string, body: unknown): Promise<void> {
    return this.counted(path, async () => {
      await this.request(
        path,
        {},
        { method: "PUT", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) },
      );
    });
  }
}

/** sleep waits before the server is asked again. It throws an AbortError when the signal aborts. */
export function sleep(what: string, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      drop(id);
      reject(new DOMException("given up", "AbortError"));
    };
    const id = later(
      what,
      ms,
      () => {
        signal?.removeEventListener("abort", stop);
        resolve();
      },
      true,
    );
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
