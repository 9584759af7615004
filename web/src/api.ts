// The types of the server's JSON, and the client that requests it. The JSON has times as decimal
// strings. The rest of the page has them as bigint.

import { cancel, callLater } from "./timers";

/** TraceState is the progress of the server in reading a trace. */
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
  /** offsets is set for a resource whose claims have offsets. */
  offsets?: boolean;
  low: number;
  high: number;
  style: string;
}
/** RegionInfo describes a region. file and line are the place of its definition, and may be missing. */
export interface RegionInfo {
  name: string;
  group: string;
  color: number;
  file?: string;
  line?: number;
}
/** TraceMeta describes a trace. Until the trace is ready, some fields are missing. */
export interface TraceMeta extends TraceEntry {
  etag: string;
  /**
   * color is the attribute whose values take the place of regions, or "" if spans show regions.
   * attributes lists the attributes that the user can choose.
   */
  color: string;
  /**
   * label is the attribute that names spans. rows is the attribute whose values become rows. Each
   * is "" if there is none.
   */
  label?: string;
  rows?: string;
  /** only has the values of an attribute that spans must have, as NAME=VALUE,…; "" for all spans. */
  only?: string;
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
  /**
   * overview holds sums over events that the trace itself stores. It is set only while the server
   * indexes the trace.
   */
  overview?: Overview;
}
/**
 * Overview holds sums over events that the trace itself stores. Each time may be too small by up to
 * `missing` ticks. If `to` is set, the sums cover the time up to it, on the clock of the trace, and
 * `events` counts only visits and messages.
 */
export interface Overview {
  regions: { name: string; count: number; inclusive: string; exclusive: string }[] | null;
  locations: { name: string; events: number }[] | null;
  events: number;
  missing: string;
  to?: string;
}
/** SpanInfo describes a span. Its times are exact. */
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
/** EnclosingSpan is a span that contains another one. */
export interface EnclosingSpan {
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
 * LinkInfo is a message, a dependency or a fork, or a bundle of `count` links. alone is set for a
 * send whose receive is missing, and unsent for a receive whose send is missing.
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
/** LinkPoint is the event or claim at an end of a link. kind is "" if the trace does not state the kind. */
export interface LinkPoint {
  kind: string;
  name: string;
  attributes: Attribute[] | null;
}
/**
 * LinkDetails is the answer of /link. partial is set if attributes are missing because the server
 * is still reading the trace for them.
 */
export interface LinkDetails {
  link: LinkInfo;
  from: LinkPoint;
  to: LinkPoint;
  partial: boolean;
}
/**
 * SpanDetails is the answer of /span. partial is set if attributes are missing because the server
 * is still reading the trace for them.
 */
export interface SpanDetails {
  span: SpanInfo;
  attributes: Attribute[] | null;
  partial: boolean;
  around: EnclosingSpan[] | null;
  links: LinkInfo[] | null;
}
/** InstantDetails is the answer of /instant. partial means the same as in SpanDetails. */
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
 * ProfileRow holds the sums over the calls of a region, or over its claims of resources. The mean
 * duration is sum divided by count. inclusive cannot replace sum there, because it counts nested
 * calls of a region once.
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
/** Profile is the answer of /profile. left holds the sums over the rows beyond the limit. */
export interface Profile {
  rows: ProfileRow[] | null;
  left: { rows: number; exclusive: string; held: string };
}
/** PathsLeft holds the sums over the call paths that an answer leaves out. */
export interface PathsLeft {
  paths: number;
  exclusive: string;
}
/**
 * CallNode is a call path. region is -1 if the values of an attribute take the place of regions;
 * regionKey is always the number of the region in the trace. longest is the call whose duration is max.
 * left holds the sums over the paths below this one that the answer leaves out.
 */
export interface CallNode {
  region: number;
  regionKey: number;
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
/** CallTree is the answer of /calltree: the call paths with the most inclusive time. */
export interface CallTree {
  roots: CallNode[] | null;
  paths: number;
  left: PathsLeft;
}
/**
 * MatrixCell holds the sums over the messages from one track to another. matched is the number of
 * these messages that were received. min, max and sum summarise the latencies of the received messages.
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
/** StateTimes holds the time that a processor spends in each state, in ticks. */
export interface StateTimes {
  busy: string;
  overhead: string;
  idle: string;
}
/**
 * States is the answer of /states: the sums of the times over all processors, and the times of each track. If there
 * are none, missing is the reason, and there are no sums and no rows.
 */
export interface States extends Partial<StateTimes> {
  missing: string;
  processors: number;
  rows: (StateTimes & { track: number })[];
  clocks?: Contradictions;
}
/**
 * CounterRow holds the statistics of a counter or signal. Fields are missing for statistics that
 * cannot be computed.
 */
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
 * WaitShare is the share of a pattern's waits that belongs to a region or communicator (name), a
 * call path, a location (track) or a pair of locations. cause is the track for which the location
 * waits.
 */
export interface WaitShare {
  name?: string;
  path?: string[];
  track?: number;
  cause?: number;
  count: number;
  time: string;
}
/** WaitShares lists the largest contributions to a pattern. left holds the sums over the others. */
export interface WaitShares {
  rows: WaitShare[];
  left: { rows: number; count: number; time: string };
}
/**
 * WaitInfo is a single wait. depth is the depth of the call that waits, and causeDepth the depth of
 * the call that ends the wait. Each is -1 if it is unknown.
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
/**
 * WaitPattern is a type of wait. partOf is the id of the pattern whose waits include those of this
 * one, or "".
 */
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
/**
 * Unjudged counts events whose waits cannot be found, with the reason. time is the total time of calls in ticks; it is
 * absent for other events.
 */
export interface Unjudged {
  what: string;
  count: number;
  time?: string;
  reason: string;
}
/** Contradictions describes how times contradict causality, and the command that corrects the clocks. */
export type Contradictions = { text: string; remedy: string };
/**
 * Waits is the answer of /waits. If the waits of the trace cannot be found, missing is the reason, and only the lists
 * are there. Otherwise it is "".
 */
export interface Waits {
  missing: string;
  locations: number;
  time: string;
  judged: number;
  waiting: string;
  patterns: WaitPattern[];
  late: { communicator: string; track: number; operations: number; of: number; lost: string }[];
  clocks?: Contradictions;
  unjudged: Unjudged[];
}
/** Factors holds POP's standard factors of efficiency, from 0 to 1. */
export interface Factors {
  parallel: number;
  "load-balance": number;
  communication: number;
  serialisation: number;
  transfer: number;
}
/**
 * Factor is a named factor of efficiency. If it is the product of other factors, these follow it in
 * the list, one level deeper.
 */
export interface Factor {
  name: string;
  level: number;
  value: number;
}
/**
 * Efficiency is the answer of /efficiency. If there are no factors, missing is the reason, and only the lists are
 * there. Otherwise it is "". hybrid holds the factors for processes with threads, and devices
 * those of streams of devices. hybrid is empty if each
 * process has one thread.
 */
export interface Efficiency {
  missing: string;
  processes: number;
  threads: number;
  streams: number;
  runtime: string;
  ideal: string;
  useful: string;
  usefulMax: string;
  factors: Factor[];
  hybrid: Factor[];
  devices: Factor[];
  sentences: string[];
}
/**
 * CriticalPath is the answer of /path. If there is no critical path, missing is the reason, and only the lists are
 * there. Otherwise it is "".
 */
export interface CriticalPath {
  missing: string;
  /** claims is set for a trace of claims. In that case, the path is the longest one in the constraint graph. */
  claims?: { claims: number; dependencies: number; inferred: number };
  /** sentence is about calls whose waits are unknown, if they take much time. */
  sentence?: string;
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
/**
 * Finding is a loss of time with its cause. path is the call path with the loss, and tracks are the
 * locations with it. Each may be empty.
 */
export interface Finding {
  id: "late" | "chain" | "lock" | "device" | "noise" | "slowing" | "transfer" | "barriers" | "startup" | "serial"
    | "wrong-order";
  title: string;
  lossShare: number;
  gain: string;
  gainShare: number;
  /** whatIf is the argument with which weft path --what-if computes the gain, or "". */
  whatIf: string;
  path: string[];
  tracks: number[];
  evidence: string[];
  advice: string;
  confidence: "high" | "medium" | "low";
}
/**
 * Explanation is the answer of /explain. If nothing can be explained, missing is the reason.
 * Otherwise it is "".
 */
export interface Explanation {
  missing: string;
  ran?: {
    processes: number;
    threads: number;
    streams: number;
    runtime: string;
    waitingShare: number;
    regions: { region: string; time: string; share: number }[];
  };
  verdict: string;
  factors?: Factors;
  findings: Finding[];
  unjudged: string[];
}
/**
 * LocationRow holds the sums over a location or resource. busy is the time in which a region was
 * open, or in which anything of the resource was claimed.
 */
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
/** Utilisation holds the average share of the locations in each state, from 0 to 1, for each column. */
export interface Utilisation {
  width: number;
  busy: number[];
  overhead: number[];
  idle: number[];
}
/** Defect is a defect that was found when the trace was read. */
export interface Defect {
  rule: string;
  severity: string;
  message: string;
  file: string;
  position: string;
  time: string;
  track: number;
}
/** Note is a text for a time or a window. */
export interface Note {
  id: string;
  from: string;
  to: string;
  track: number;
  text: string;
  created: string;
}

/**
 * ApiError is an answer of the server that reports a failure. Its message is the text for the user.
 */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** isNoContent reports whether an error means that there is nothing at the requested place (204 No Content). */
export function isNoContent(e: unknown): boolean {
  return e instanceof ApiError && e.status === 204;
}

/** isAbort reports whether the page itself cancelled a request. */
export function isAbort(e: unknown): boolean {
  return e instanceof DOMException && e.name === "AbortError";
}

/** errorText returns the text to show to the user for an error. */
export function errorText(e: unknown): string {
  if (e instanceof ApiError) return e.message;
  if (e instanceof TypeError) return "The server does not answer: is weft still running?";
  return e instanceof Error ? e.message : String(e);
}

/**
 * statusText returns the text for an answer that has no message of its own. A proxy may have sent
 * such an answer.
 */
function statusText(status: number, text: string): string {
  switch (status) {
    case 401:
      return "This page's token is not valid any more: open the address that weft printed.";
    case 403:
      return "The server refuses this page's address.";
    case 404:
      return "The server has nothing at this address.";
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

/** ranges formats track numbers in ascending order as a list of ranges such as "0-63,70". */
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

/** baseID returns the id of a trace without its configuration, which is the part from the first "~" on. */
export function baseID(id: string): string {
  return id.split("~", 1)[0];
}

type Query = Record<string, string | number | bigint | undefined>;

/**
 * Client sends requests to the server. It keeps a list of the unanswered ones. The page is at rest
 * only if that list is empty.
 */
export class Client {
  /** inFlight lists the paths of unanswered requests. */
  readonly inFlight: string[] = [];
  /** onChange is called after each change of inFlight. */
  onChange: () => void = () => undefined;
  /** onLost is called with a reason when the server stops answering, and with "" when it answers again. */
  onLost: (why: string) => void = () => undefined;
  /** onReindex is called when the index of a trace no longer exists and the server builds it again. */
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
        /** the answer has no JSON, so the message comes from the status */
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

  /** json requests a JSON document. It trusts the server for the type of the answer. */
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

  /** ask sends a text and returns the server's answer. */
  ask<T>(path: string, query: Query, text: string, signal?: AbortSignal): Promise<T> {
    const init = { method: "POST", headers: { "Content-Type": "text/plain" }, body: text, signal };
    return this.counted(path, async () => (await (await this.request(path, query, init)).json()) as T);
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

/**
 * sleep waits for some milliseconds. what is the name of its timer. sleep throws an AbortError if
 * the signal aborts.
 */
export function sleep(what: string, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      cancel(id);
      reject(new DOMException("given up", "AbortError"));
    };
    const id = callLater(
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
