/* Computes the costs of one photograph beside the page: takes {data, width, height}, gives costsOf. */
import { costsOf } from "./costs.js";

addEventListener("message", ({ data }) => {
  const costs = costsOf(data);
  postMessage(costs, [costs.cost.buffer, costs.gx.buffer, costs.gy.buffer]);
});
