// Pictures of reports for the book, taken in headless Chromium.
// usage: node picture.mjs PAGE.html PICTURE.png WIDTH HEIGHT [ID]    from the element with this ID on, or from the top

import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [file, picture, width, height, id] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
try {
  const page = await browser.newPage({ viewport: { width: Number(width), height: Number(height) }, colorScheme: "light" });
  await page.goto(pathToFileURL(file).href + (id ? "#" + id : ""));
  await page.screenshot({ path: picture });
} finally {
  await browser.close();
}
