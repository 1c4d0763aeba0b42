// Prism folds the two Set-Cookie lines of a sign-in into one, which no client can read. This parts them again.
import { ServerResponse } from "node:http";

const set = ServerResponse.prototype.setHeader;
ServerResponse.prototype.setHeader = function (name, value) {
  const folded = /^set-cookie$/i.test(name) && typeof value === "string";
  return set.call(this, name, folded ? value.split(/,(?=waybill_)/) : value);
};
