import type { Browser } from "playwright-core";

export function launch(executablePath: string): Promise<Browser>;
