// Loaded into a process that is measured: tells over its channel how much memory and processor time it has used.
process.on('message', () => {
  const { maxRSS } = process.resourceUsage();
  const { user, system } = process.cpuUsage();
  process.send({ rss: process.memoryUsage.rss(), maxRss: maxRSS * 1024, cpuMs: (user + system) / 1000 });
});
process.channel?.unref();
