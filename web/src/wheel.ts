// The mouse wheel.

/** wheelFactor converts the travel of a wheel to a zoom factor. Mice and touch pads zoom by similar factors. */
export function wheelFactor(e: WheelEvent): number {
  const lines = e.deltaMode === 1 ? 33 : e.deltaMode === 2 ? 400 : 1;
  return Math.exp(Math.max(-300, Math.min(300, e.deltaY * lines)) * (e.ctrlKey ? 0.008 : 0.0022));
}
