// Text on a canvas or in an SVG file.

/** Pen is the common interface of canvases and SVG drawings. */
export type Pen = Pick<
  CanvasRenderingContext2D,
  | "fillStyle"
  | "strokeStyle"
  | "lineWidth"
  | "font"
  | "textBaseline"
  | "textAlign"
  | "fillRect"
  | "beginPath"
  | "moveTo"
  | "lineTo"
  | "closePath"
  | "stroke"
  | "fill"
  | "fillText"
  | "measureText"
  | "save"
  | "restore"
  | "rect"
  | "clip"
>;

/**
 * stacks matches text with several combining marks on a letter, which may reach far above and below
 * the line.
 */
const stacks = /\p{Mn}{2}/u;

/**
 * write writes a text at (x, y). Marks that would leave the lines from top to top + height are
 * clipped.
 */
export function write(g: Pen, text: string, x: number, y: number, top: number, height: number, width: number): void {
  if (!stacks.test(text)) {
    g.fillText(text, x, y);
    return;
  }
  g.save();
  g.beginPath();
  g.rect(x - 2, top, width + 4, height);
  g.clip();
  g.fillText(text, x, y);
  g.restore();
}
