// How long something took, or a dash where the source of an imported run gives no times.

import { seconds, unknown } from "./format.js";

export const NO_TIMES = "the imported file gives no times";

/** Seconds as they are written; null is a run without times. */
export const lasted = (value, written = seconds) => (value === null ? unknown(NO_TIMES) : written(value));
