// The live page in headless Chromium: what is drawn changes, fits, comes from the server alone, and logs no error. axe
// finds nothing to object to, the history survives a reload, and keys and fingers reach the segments.
// usage: node browser.mjs URL    leaves page-WIDTH-SCHEME.png in the current folder

import axe from "axe-core";
import { chromium } from "playwright-core";

const [url] = process.argv.slice(2);
const SECONDS = 30;
// Seconds that the charts get before a picture is taken.
const PICTURE_AFTER = 8;

function expect(isSo, what) {
  if (!isSo) throw new Error(what);
}

/** What is drawn now. */
const drawn = page => page.evaluate(() => {
  const pictures = ["cells", "requests", "latency", "rate", "wa"].map(id => [id, document.getElementById(id).toDataURL()]);
  return { ...Object.fromEntries(pictures), numbers: document.getElementById("numbers").textContent };
});

/** The head says what the disk is and how it is; the tiles have what people look for first. */
async function names(page) {
  const [name, health, about] = await Promise.all(["name", "health", "about"].map(id => page.textContent(`#${id}`)));
  expect(name.length > 0 && await page.title() === `${name} – wearwell`, `the name is ${name}`);
  expect(/^(healthy|degraded).*% of the spare left, \d+ bad segments, \d+ lost pages/.test(health), `health: ${health}`);
  expect(/^40 MiB on geometry:4096:32:400: 400 segments .*which cat/.test(about), `about: ${about}`);
  const read = tiles => Object.fromEntries(tiles.map(tile => [...tile.children].map(part => part.textContent)));
  const values = await page.$$eval("#numbers div", read);
  for (const tile of ["requests a second", "latency, median", "latency, 99 %", "clients", "read", "discarded",
    "spare segments", "bad segments", "life used"]) {
    expect(/\d/.test(values[tile]), `the tile ${tile} has ${values[tile]}`);
  }
}

/** What stands below the segments. */
const tip = page => page.textContent("#tip");

/** Every segment by keys, fingers and mouse. */
async function reach(page) {
  await page.focus("#cells");
  await page.keyboard.press("End");
  const last = await page.getAttribute("#cells", "aria-valuetext");
  expect(/^segment 3\d\d: /.test(last) && await tip(page) === last, `the last segment: ${last}`);
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  expect(/^segment 1: /.test(await tip(page)), `the arrow keys do not walk: ${await tip(page)}`);
  const { x, y } = await page.locator("#cells").boundingBox();
  await page.touchscreen.tap(x + 5, y + 5);
  expect(/^segment 0: /.test(await tip(page)), `a tap does not show a segment: ${await tip(page)}`);
  await page.hover("#cells", { position: { x: 60, y: 5 } });
  expect(/^segment [1-9]\d*: /.test(await tip(page)), `the mouse does not show a segment: ${await tip(page)}`);
}

/** A retired segment differs from the panel behind it, from corner to corner. */
async function seesBad(page) {
  await page.selectOption("#by", "state");
  const contrast = await page.evaluate(() => {
    const bad = now.segments.findIndex(row => row[0] === "bad"), { side, columns } = shape, ratio = devicePixelRatio;
    if (bad < 0) return null;
    const middle = [bad % columns * side + (side - 1) / 2, Math.floor(bad / columns) * side + (side - 1) / 2];
    const [r, g, b, a] = cells.getContext("2d").getImageData(...middle.map(at => Math.round(at * ratio)), 1, 1).data;
    const panel = getComputedStyle(cells.parentElement).backgroundColor.match(/\d+/g).map(Number);
    return [r, g, b].reduce((sum, part, i) => sum + Math.abs(part - panel[i]), 0) * a / 255;
  });
  expect(contrast !== null, "no segment is bad");
  expect(contrast > 200, `a bad segment cannot be seen: ${contrast}`);
}

async function look(browser, width, colorScheme) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, hasTouch: true });
  const page = await context.newPage();
  const errors = [];
  page.on("console", message => { if (["error", "warning"].includes(message.type())) errors.push(message.text()); });
  page.on("pageerror", error => errors.push(error.message));
  page.on("requestfailed", request => errors.push(`${request.url()}: ${request.failure()?.errorText}`));
  page.on("request", request => {
    if (!request.url().startsWith(url) && !request.url().startsWith("data:")) errors.push(`asks elsewhere: ${request.url()}`);
  });
  await page.goto(url);
  await page.waitForFunction(() => document.querySelectorAll("#numbers div").length > 5);

  const first = await drawn(page);
  const same = new Set(Object.keys(first));
  for (let second = 0; second < SECONDS && (same.size > 0 || second < PICTURE_AFTER); second++) {
    await page.waitForTimeout(1000);
    const now = await drawn(page);
    for (const part of same) if (now[part] !== first[part]) same.delete(part);
  }
  expect(same.size === 0, `nothing changes in ${SECONDS} s: ${[...same]}`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(wide <= width, `the page is ${wide} pixels wide, of ${width}`);
  await page.screenshot({ path: `page-${width}-${colorScheme}.png`, fullPage: true });

  await names(page);
  const legend = await page.$$eval("#legend li", all => all.map(entry => entry.textContent).join(", "));
  expect(legend === "free, open, closed, victim, erasing, bad, the paler, the fewer valid pages", `the legend: ${legend}`);
  const pictures = new Set();
  for (const by of ["state", "utilization", "wear", "class"]) {
    await page.selectOption("#by", by);
    pictures.add((await drawn(page)).cells);
    expect((await page.textContent("#legend")).length > 0, `no legend by ${by}`);
  }
  expect(pictures.size === 4, "the colours of the cells are the same by all four");
  expect(/hot.*cold.*read-only/.test(await page.textContent("#legend")), "classes have no names");
  await seesBad(page);
  await reach(page);
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => axe.run());
  expect(violations.length === 0, "axe: " + violations.map(({ help, nodes }) => `${help}: ${nodes[0].html}`).join("; "));
  const known = await page.evaluate(() => past.length);
  await page.reload();
  await page.waitForFunction(() => document.querySelectorAll("#numbers div").length > 5);
  const again = await page.evaluate(() => past.length);
  expect(known > 3 && again >= known, `of ${known} seconds a reload leaves ${again}`);
  expect(errors.length === 0, `the browser complains: ${errors.join("; ")}`);
  await context.close();
}

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu",
  "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
try {
  await Promise.all([1280, 400].flatMap(width => ["light", "dark"].map(scheme => look(browser, width, scheme))));
} finally {
  await browser.close();
}
console.log("the live page in Chromium: cells, charts and numbers change, at 1280 and 400 pixels, light and dark; \
no error, and none by axe");
