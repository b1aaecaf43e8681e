import { creationPoints } from "./creation-points";
import { deletionPoints } from "./deletion-points";
import { updatePoints } from "./update-points";

/** The points that only changes show, in the order of the report. */
export const changingPoints = { ...creationPoints, ...updatePoints, ...deletionPoints };
