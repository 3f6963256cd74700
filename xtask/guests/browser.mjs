// The live page in headless Chromium: what is drawn changes, fits, comes from the server alone, and logs no error.
// usage: node browser.mjs URL    leaves page-WIDTH-SCHEME.png in the current folder

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
  const picture = id => document.getElementById(id).toDataURL();
  return { cells: picture("cells"), wa: picture("wa"), rate: picture("rate"),
    numbers: document.getElementById("numbers").textContent };
});

async function look(browser, width, colorScheme) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
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

  const pictures = new Set();
  for (const by of ["state", "utilization", "wear", "stream"]) {
    await page.selectOption("#by", by);
    pictures.add((await drawn(page)).cells);
    expect((await page.textContent("#legend")).length > 0, `no legend by ${by}`);
  }
  expect(pictures.size === 4, "the colours of the cells are the same by all four");
  await page.hover("#cells", { position: { x: 5, y: 5 } });
  expect(/^segment 0: /.test(await page.textContent("#tip")), "the tip does not say what a cell is");
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
console.log("the live page in Chromium: cells, charts and numbers change, at 1280 and 400 pixels, light and dark; no error");
