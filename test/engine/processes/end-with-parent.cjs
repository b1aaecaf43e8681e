// Preloaded into what an engine starts: a pipe that closes is the only sign of a parent that was killed.
process.stdin.on("end", () => process.exit(1));
process.stdin.on("error", () => process.exit(1));
process.stdin.resume();
process.stdin.unref();
