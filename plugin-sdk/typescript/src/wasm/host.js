export { cancelled, listChanged, log, logData, progress, resourceUpdated } from "wharf:plugin/host@0.1.0";
