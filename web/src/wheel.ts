// The wheel of the mouse.

/** wheelFactor turns a wheel's travel into a zoom factor, alike for mice and touch pads. */
export function wheelFactor(e: WheelEvent): number {
  const lines = e.deltaMode === 1 ? 33 : e.deltaMode === 2 ? 400 : 1;
  return Math.exp(Math.max(-300, Math.min(300, e.deltaY * lines)) * (e.ctrlKey ? 0.008 : 0.0022));
}
