export { fetch } from "wharf:plugin/http@0.1.0";
