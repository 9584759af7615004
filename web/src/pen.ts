// Text on a canvas or in an SVG file.

/** Pen is what a canvas and a drawing of lines and texts have in common. */
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

/** stacks is a text whose marks may reach far above and below its letters. */
const stacks = /\p{Mn}{2}/u;

/** write writes a text within the lines that it is for: from top on, so high. */
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
