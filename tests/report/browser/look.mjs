// Opens pages in a browser without a screen, in light, dark and print, and tells what it saw.
//
//   node look.mjs CHROMIUM FOLDER WIDE NARROW PAGE...
//
// WIDE and NARROW are widths of the window in pixels; the narrow one is a phone's. Pictures go to
// FOLDER; prints one JSON object.
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const [chromium, folder, wide, narrow, ...pages] = process.argv.slice(2);
const [desk, phone] = [Number(wide), Number(narrow)];
const told = {};

// The browser keeps one of the two: the later call.
async function show(page, media, scheme) {
  if (media === "print") await page.emulateMediaType("print");
  else await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
}

const browser = await puppeteer.launch({
  executablePath: chromium,
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
for (const file of pages) {
  const name = path.basename(file, ".html");
  const seen = { console: [], requests: [], violations: {}, wide: {}, focus: [], checked: 0 };
  for (const [look, media, scheme, width] of [
    ["light", "screen", "light", desk],
    ["dark", "screen", "dark", desk],
    ["phone", "screen", "light", phone],
    ["print", "print", "light", desk],
  ]) {
    const page = await browser.newPage();
    page.on("console", (one) => seen.console.push(`${look}: ${one.text()}`));
    page.on("pageerror", (error) => seen.console.push(`${look}: ${error.message}`));
    page.on("request", (one) => seen.requests.push(one.url()));
    await page.setViewport({ width, height: 1200 });
    await show(page, media, scheme);
    await page.goto(pathToFileURL(path.resolve(file)).href);
    seen.wide[look] = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    await page.screenshot({ path: path.join(folder, `${name}-${look}.png`), fullPage: true });
    if (look === "light") {
      // Tab goes through all there is, in the order of the page.
      for (let step = 0; step < 12; step++) {
        await page.keyboard.press("Tab");
        seen.focus.push(
          await page.evaluate(() => {
            const at = document.activeElement;
            return [at.tagName, at.textContent.slice(0, 40), getComputedStyle(at).outlineStyle];
          }),
        );
      }
    }
    if (look === "print") {
      await page.pdf({ path: path.join(folder, `${name}.pdf`), format: "A4" });
    }
    await page.close();
    // The policy of the page would refuse axe, which looks from within: another tab, without it.
    const bare = await browser.newPage();
    await bare.setBypassCSP(true);
    await bare.setViewport({ width, height: 1200 });
    await show(bare, media, scheme);
    await bare.goto(pathToFileURL(path.resolve(file)).href);
    await bare.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
    await bare.evaluate(axe);
    const { violations, passes } = await bare.evaluate(() => axe.run(document));
    seen.checked = passes.length;
    seen.violations[look] = violations.map((one) => [
      one.id, one.help, ...one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 200)} ${node.failureSummary}`),
    ]);
    await bare.close();
  }
  told[name] = seen;
}
await browser.close();
console.log(JSON.stringify(told));
