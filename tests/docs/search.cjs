// What the site's search finds, as a page would: node search.cjs SITE QUERY ...
// Prints for each query the pages found, the first first.
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const [site, ...queries] = process.argv.slice(2);
const window = { addEventListener() {}, SPHINX_HIGHLIGHT_ENABLED: false };
window.window = window;
const nothing = { childNodes: [], hasChildNodes: () => false };
window.document = { addEventListener() {}, querySelector: () => null, getElementById: () => nothing };
window._ready = () => {};
window._ = (text) => text; // Of doctools.js: translates.
window.localStorage = { setItem() {}, getItem: () => null };
vm.createContext(window);
for (const name of ["searchtools.js", "language_data.js"]) {
  vm.runInContext(fs.readFileSync(path.join(site, "_static", name), "utf-8"), window);
}
vm.runInContext(fs.readFileSync(path.join(site, "searchindex.js"), "utf-8"), window);
window.queries = queries;
const found = vm.runInContext(
  `queries.map((query) =>
    Search._performSearch(...Search._parseQuery(query)).map((one) => one[0]).reverse())`,
  window,
);
console.log(JSON.stringify(found));
