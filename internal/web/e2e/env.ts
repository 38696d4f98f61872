// What the Go test, or whoever runs Playwright by hand, says of this run.

import { fileURLToPath } from 'node:url'

/** The program that is tested. */
export const binary = process.env['TANDIAN_E2E_BINARY'] ?? ''

/** On which stores it runs: "embedded", or "stores", with DATABASE_URL and REDIS_URL. */
export const stack = process.env['DATABASE_URL'] ? 'stores' : 'embedded'

/** The name of this run among those that go on at once. */
export const run = process.env['TANDIAN_E2E_RUN'] ?? stack

/** The browser; without one, that of Playwright. */
export const browser = process.env['TANDIAN_TEST_CHROMIUM']

/** Where one run on stores keeps its pictures, however many servers it starts. */
export const data = process.env['TANDIAN_E2E_DATA']

/** Where screenshots go. */
export const shots = fileURLToPath(new URL(`results/${stack}/`, import.meta.url))

/** The shops of the demo town, for stores, which begin empty. */
export const demoShops = fileURLToPath(new URL('../../town/demo.csv', import.meta.url))
