// Fixtures: a server, people with browsers, and a network that can fail. See README.md.

import { AxeBuilder } from '@axe-core/playwright'
import {
  expect,
  test as base,
  type Browser,
  type BrowserContext,
  type ConsoleMessage,
  type Page,
} from '@playwright/test'
import { join } from 'node:path'

import { shots, stack } from './env.ts'
import { Network } from './network.ts'
import { Server, type Role } from './server.ts'

export { expect, stack }
export type { Page }
export type { Network } from './network.ts'
export type { Api, Login, Role, Server, Session } from './server.ts'

/** Options of a person's browser. */
export interface PersonOptions {
  /** 390×844 with touch, or 1280×900. Default: phone. */
  device?: 'phone' | 'desktop'
  /** Default: en-US. */
  locale?: 'en-US' | 'zh-CN'
  /** Default: light. */
  colorScheme?: 'light' | 'dark'
  /** Default: no-preference. */
  reducedMotion?: 'reduce' | 'no-preference'
  /** The position, or null without permission. Default: the centre of the demo town. */
  geolocation?: { latitude: number; longitude: number } | null
  /** The time zone. Default: Asia/Shanghai. */
  timezoneId?: string
  /** The session: an account by role, or a session. Default: signed out. */
  as?: Role | { token: string; userId: string; device?: string | undefined }
  /** URL of the server. Default: server.url. `network.url` can be cut. */
  url?: string
}

/** A person with a browser. Errors in their pages fail the test at its end. */
export interface Person {
  page: Page
  context: BrowserContext
  /**
   * Allows network errors from now on: the test cuts the network, kills the server or goes offline.
   */
  expectNetworkErrors(): void
  /** Allows console messages that match; `why` documents the reason. */
  expectConsole(pattern: RegExp, why: string): void
  /** Returns and clears the collected errors, so that they do not fail the test. */
  errors(): string[]
}

/** The centre of the demo town. */
export const centre = { latitude: 30.2448, longitude: 120.151 }

interface Fixtures {
  /** Opens a browser for a new person. */
  person: (options?: PersonOptions) => Promise<Person>
  /** A connection to the server that can be cut. */
  network: Network
}

interface WorkerFixtures {
  server: Server
}

export const test = base.extend<Fixtures, WorkerFixtures>({
  server: [
    // oxlint-disable-next-line no-empty-pattern -- Playwright reads the fixture's needs from it
    async ({}, use, worker) => {
      const server = await Server.open(worker.workerIndex)
      await use(server)
      await server.close()
    },
    { scope: 'worker', timeout: 240_000 },
  ],
  network: async ({ server }, use) => {
    const network = await Network.open(server.url)
    await use(network)
    await network.cut()
  },
  person: async ({ browser, server }, use, info) => {
    const collectors: ErrorCollector[] = []
    await use(async (options = {}) => {
      const collector = new ErrorCollector(`person ${collectors.length + 1}`)
      collectors.push(collector)
      return open(browser, server, options, collector)
    })
    await Promise.all(collectors.map((collector) => collector.context?.close()))
    const errors = collectors.flatMap((collector) => collector.errors())
    if (info.status !== info.expectedStatus) {
      const body = server.output.slice(-20_000)
      await info.attach('server', { body, contentType: 'text/plain' })
    }
    expect(errors, 'what went wrong in the browsers').toEqual([])
  },
})

/** The cookie that identifies a device, as a login sets it. */
function deviceCookies(url: string, value: string | undefined) {
  if (value === undefined) return []
  const { hostname: domain } = new URL(url)
  const rest = { path: '/graphql', expires: -1, httpOnly: true, secure: false } as const
  return [{ name: 'tandian_device', value, domain, sameSite: 'Strict' as const, ...rest }]
}

async function open(
  browser: Browser,
  server: Server,
  options: PersonOptions,
  collector: ErrorCollector,
): Promise<Person> {
  const { device = 'phone', geolocation = centre, url = server.url, as } = options
  const session = typeof as === 'string' ? await server.login(as) : as
  const stored = session && JSON.stringify({ token: session.token, userId: session.userId })
  const localStorage = stored ? [{ name: 'tandian.session', value: stored }] : []
  const context = await browser.newContext({
    baseURL: url,
    locale: options.locale ?? 'en-US',
    timezoneId: options.timezoneId ?? 'Asia/Shanghai',
    colorScheme: options.colorScheme ?? 'light',
    reducedMotion: options.reducedMotion ?? 'no-preference',
    storageState: {
      cookies: deviceCookies(url, session?.device),
      origins: [{ origin: url, localStorage }],
    },
    ...(device === 'phone'
      ? { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
      : { viewport: { width: 1280, height: 900 } }),
    ...(geolocation ? { geolocation, permissions: ['geolocation'] } : {}),
  })
  await collector.over(context, url)
  return {
    context,
    page: await context.newPage(),
    expectNetworkErrors: () => collector.expectNetworkErrors(),
    expectConsole: (pattern) => collector.expectConsole(pattern),
    errors: () => collector.take(),
  }
}

interface PageError {
  text: string
  /** Whether a network failure explains it. */
  network: boolean
  /** Whether it is a console message, which a test can allow. */
  console: boolean
}

// Chromium's messages for failed requests and sockets.
const networkError = /net::ERR_|Failed to load resource|WebSocket connection to|Failed to fetch/

/** Collects the errors of one context. */
class ErrorCollector {
  context: BrowserContext | undefined
  readonly #name: string
  readonly #errors: PageError[] = []
  readonly #expected: RegExp[] = []
  #network = false

  constructor(name: string) {
    this.#name = name
  }

  async over(context: BrowserContext, url: string): Promise<void> {
    this.context = context
    const { host } = new URL(url)
    const elsewhere = (address: string) => {
      const to = new URL(address)
      return /^(http|ws)s?:$/.test(to.protocol) && to.host !== host
    }
    // The binding is available before the page's first script.
    await context.exposeBinding('tandianViolation', (_, text: string) => {
      this.#record(`content security policy: ${text}`)
    })
    await context.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', (e) => {
        const report = (window as unknown as { tandianViolation(text: string): void })
          .tandianViolation
        report(`${e.effectiveDirective} refuses ${e.blockedURI} (${e.sourceFile}:${e.lineNumber})`)
      })
    })
    context.on('console', (message) => this.#onConsole(message))
    context.on('weberror', (e) => {
      const { stack: lines, message } = e.error()
      this.#record(`error in the page: ${lines ?? message}`, networkError.test(message))
    })
    context.on('request', (request) => {
      if (elsewhere(request.url())) this.#record(`asks another host: ${request.url()}`)
    })
    context.on('page', (page) => {
      page.on('websocket', (socket) => {
        if (elsewhere(socket.url())) this.#record(`asks another host: ${socket.url()}`)
      })
    })
  }

  expectNetworkErrors(): void {
    this.#network = true
  }

  expectConsole(pattern: RegExp): void {
    this.#expected.push(pattern)
  }

  errors(): string[] {
    return this.#errors
      .filter((t) => !t.console || !this.#expected.some((pattern) => pattern.test(t.text)))
      .map((t) => `${this.#name}: ${t.text}`)
  }

  take(): string[] {
    const taken = this.errors()
    this.#errors.length = 0
    return taken
  }

  #onConsole(message: ConsoleMessage): void {
    if (message.type() !== 'error') return
    const { url, lineNumber } = message.location()
    const text = message.text()
    this.#record(`console: ${text} (${url}:${lineNumber})`, networkError.test(text), true)
  }

  #record(text: string, network = false, console = false): void {
    if (network && this.#network) return
    this.#errors.push({ text, network, console })
  }
}

/**
 * Fails if axe finds violations of WCAG 2.1 A, AA or best practices in the current page. `exclude`
 * lists selectors of third-party content.
 */
export async function a11y(page: Page, exclude: string[] = []): Promise<void> {
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']
  let axe = new AxeBuilder({ page }).withTags(tags)
  for (const selector of exclude) axe = axe.exclude(selector)
  const { violations } = await axe.analyze()
  const list = violations.flatMap(({ id, help, nodes }) =>
    nodes.map((n) => `${id}: ${help}\n  ${n.target.join(' ')}\n  ${n.html}\n  ${n.failureSummary}`),
  )
  // Continue: the rest of the test may find more.
  expect.soft(list.join('\n\n'), `axe on ${page.url()}`).toBe('')
}

/** Saves a screenshot as results/STACK/NAME.png. */
export async function shot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(shots, `${name}.png`), animations: 'disabled' })
}
