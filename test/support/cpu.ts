/** The CPU time of work in milliseconds, which other load hardly increases. At least 10: the clock is coarse. */
export function cpuMsOf(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return Math.max(10, (user + system) / 1000);
}
