// A common interface for canvases and SVG files, and text that is drawn with it.

/** Pen is the part of a canvas context that SVG drawings also offer. */
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

/** stackedMarks matches a letter with several combining marks. Such marks may extend far above and below the line. */
const stackedMarks = /\p{Mn}{2}/u;

/** drawText draws a text at (x, y). It clips marks outside of the lines from top to top + height. */
export function drawText(g: Pen, text: string, x: number, y: number, top: number, height: number, width: number): void {
  if (!stackedMarks.test(text)) {
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
