// The script of a helper of the engine's thread, which speaks through the port that the page hands on.
import { help } from "./engine/threads.js";

addEventListener("message", ({ data: port }) => {
  port.addEventListener("message", ({ data }) => help(port, data), { once: true });
  port.start();
}, { once: true });
