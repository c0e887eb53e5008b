// The script of a helper of the engine's thread.
import { help } from "./engine/threads.js";

addEventListener("message", ({ data }) => help(data), { once: true });
