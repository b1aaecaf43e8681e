export { type FaultName, type WithEmulator, type WithEmulatorOptions, withEmulator } from "./emulator";
export { type MockedProgram, type MockedResource, type MocksOptions, mocks } from "./mocks";
