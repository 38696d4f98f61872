import { defineConfig } from '@playwright/test'

import { browser, run } from './env.ts'

/**
 * One worker, so that a test has the server for itself, and no second try: a test that
 * fails now and then is a fault, in it or in Tandian.
 */
export default defineConfig({
  testDir: '.',
  outputDir: `results/failed/${run}`,
  workers: 1,
  retries: 0,
  forbidOnly: Boolean(process.env['CI']),
  timeout: 60_000,
  expect: { timeout: 15_000 },
  reporter: [['list']],
  use: {
    actionTimeout: 15_000,
    navigationTimeout: 15_000,
    // Recording all that happens takes a third of the time: with TRACE=1.
    trace: process.env['TRACE'] ? 'retain-on-failure' : 'off',
    screenshot: 'only-on-failure',
    launchOptions: browser ? { executablePath: browser } : {},
  },
})
