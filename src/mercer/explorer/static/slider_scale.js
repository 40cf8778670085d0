// The logarithmic scale of the bandwidth slider.

export const STEPS = 1000;

/** The bandwidth of a step between 0 and STEPS. */
export const toBandwidth = (step, { low, high }) => low * (high / low) ** (step / STEPS);

/** The step of a bandwidth; outside of the limits it is below 0 or above STEPS. */
export const toStep = (bandwidth, { low, high }) =>
  (STEPS * Math.log(bandwidth / low)) / Math.log(high / low);

/** The position of a bandwidth on the slider in percent. */
export const toPercent = (bandwidth, limits) => (100 * toStep(bandwidth, limits)) / STEPS;
