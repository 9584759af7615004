import type { Download } from "playwright-core";

export function content(download: Download): Promise<Buffer>;
