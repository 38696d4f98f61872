import { defineConfig } from '@playwright/test'

import { browser, run } from './env.ts'

/**
 * One worker, so that each test has the server to itself, and no retries: a flaky test is a defect.
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
    // Tracing costs a third of the time. Enable it with TRACE=1.
    trace: process.env['TRACE'] ? 'retain-on-failure' : 'off',
    screenshot: 'only-on-failure',
    launchOptions: browser ? { executablePath: browser } : {},
  },
})
