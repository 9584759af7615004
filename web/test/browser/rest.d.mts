import type { Page } from "playwright-core";

export function rest(page: Page, waits?: (left: string[]) => void): Promise<void>;
