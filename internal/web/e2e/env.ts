// Environment of a run, set by the Go test or by hand.

import { fileURLToPath } from 'node:url'

/** The program under test. */
export const binary = process.env['TANDIAN_E2E_BINARY'] ?? ''

/** The stores: "embedded", or "stores" with DATABASE_URL and REDIS_URL. */
export const stack = process.env['DATABASE_URL'] ? 'stores' : 'embedded'

/** Name of this run, unique among parallel runs. */
export const run = process.env['TANDIAN_E2E_RUN'] ?? stack

/** Path of the browser; Playwright's own if unset. */
export const browser = process.env['TANDIAN_TEST_CHROMIUM']

/** Folder of a run's pictures on stores, shared by its servers. */
export const data = process.env['TANDIAN_E2E_DATA']

/** Folder of screenshots. */
export const shots = fileURLToPath(new URL(`results/${stack}/`, import.meta.url))

/** The shops of the demo town. Stores start empty. */
export const demoShops = fileURLToPath(new URL('../../demo/shops.csv', import.meta.url))
