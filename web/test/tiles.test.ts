import { expect, test } from "vitest";
import { gridFits, gridFor } from "../src/tiles";

test("the grid that is requested for a view covers the view", () => {
  const length = 51240000n;
  for (const width of [7, 1070, 1390, 3500])
    for (const from of [0n, 1n, 999n, 1000000n, 1000001n, 2374999n, 5000000n, 30000000n])
      for (const d of [100000n, 19000000n, 21240000n]) {
        const view = { window: { from, to: from + d }, width, rows: [], depths: 8 },
          g = gridFor(view.window, width, length);
        expect(g && gridFits(g, view, length), `${from} + ${d} in ${width}`).toBe(true);
      }
});

test("a view far from the requested grid needs another grid", () => {
  const g = gridFor({ from: 20000000n, to: 21000000n }, 1000, 51240000n);
  if (!g) throw new Error("no grid");
  expect(gridFits(g, { window: { from: 22000000n, to: 23000000n }, width: 1000, rows: [], depths: 8 }, 51240000n)).toBe(
    false,
  );
  expect(gridFits(g, { window: { from: 20000000n, to: 20500000n }, width: 1000, rows: [], depths: 8 }, 51240000n)).toBe(
    false,
  );
});
