// Preloaded into child processes of the engine. A closed pipe is the only sign that the parent was killed.
process.stdin.on("end", () => process.exit(1));
process.stdin.on("error", () => process.exit(1));
process.stdin.resume();
process.stdin.unref();
