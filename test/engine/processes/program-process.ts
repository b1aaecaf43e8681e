import path from "node:path";
import { Child, describeExit } from "./child";
import type { Project } from "./project";

/** The exit code of the SDK's runner for a failed program whose error has been reported. */
const reportedExit = 32;

export interface ProgramOptions {
  readonly project: Project;
  readonly organization: string;
  readonly projectName: string;
  readonly stack: string;
  readonly dryRun: boolean;
  readonly parallel: number;
  readonly monitorAddress: string;
  readonly engineAddress: string;
  readonly env: Readonly<Record<string, string>>;
  readonly survivesEngine: boolean;
  onLine(stream: "stdout" | "stderr", line: string): void;
}

export type ProgramEnd = { readonly ok: true } | { readonly ok: false; readonly message?: string };

/** The program, run by the SDK's own runner. */
export class ProgramProcess {
  readonly #child: Child;
  readonly ended: Promise<ProgramEnd>;

  constructor(options: ProgramOptions) {
    const { project } = options;
    this.#child = new Child({
      script: path.join(project.sdk, "cmd/run/index.js"),
      args: [
        ...["--monitor", options.monitorAddress, "--engine", options.engineAddress],
        ...["--organization", options.organization],
        ...["--project", options.projectName, "--stack", options.stack],
        ...["--root-directory", project.root, "--pwd", project.cwd, "--parallel", String(options.parallel)],
        ...(options.dryRun ? ["--dry-run"] : []),
        project.entry,
      ],
      cwd: project.cwd,
      env: {
        PULUMI_NODEJS_TYPESCRIPT: String(project.typescript),
        // Types aren't checked here, because the type checker has its own run.
        PULUMI_NODEJS_TRANSPILE_ONLY: "true",
        ...options.env,
      },
      survivesEngine: options.survivesEngine,
      onLine: options.onLine,
    });
    this.ended = this.#child.exited.then((exit) => {
      if (exit.code === 0) return { ok: true };
      return exit.code === reportedExit
        ? { ok: false }
        : { ok: false, message: `the program ${describeExit(exit)}` };
    });
  }

  kill(): Promise<void> {
    return this.#child.kill();
  }
}
