// Tests of the app's pure modules, without a browser.
/* oxlint-disable unicorn/consistent-function-scoping -- helpers are next to their tables */

import { expect, test } from '@playwright/test'

import type { OrderStatus } from '../app/src/api/types.gql'
import type { SafeStorage } from '../app/src/app/safeStorage'
import {
  interpretResponse,
  maxIntentAge,
  createPurchaseIntents,
} from '../app/src/orders/purchaseIntents'
import { isFinal, latestState } from '../app/src/orders/progress'
import { phoneUrl, websiteLink } from '../app/src/shops/contact'
import { filterOf } from '../app/src/shops/filters'
import { spreadApart, fit, offset } from '../app/src/shops/map'
import { groupDays, openStateAt, weekdayAt, weekdayOf } from '../app/src/shops/openingHours'
import {
  withStart,
  restarted,
  hiddenIds,
  emptyFeed,
  withPage,
  withShown,
  withUpdate,
  withoutAuthor,
  type Feed,
  type FirstPage,
  type FeedNote,
} from '../app/src/feed/feed'
import { parseDigits } from '../app/src/forms/number'
import {
  parseAmount,
  parseDegrees,
  toLocalInput,
  parseMinor,
  fromLocalInput,
  trimToNull,
  parseInteger,
  formatYuan,
} from '../app/src/forms/fieldFormat'
import { isolate } from '../app/src/i18n/isolate'
import { returnPath, signInTo } from '../app/src/session/returnPath'
import { lastDays } from '../app/src/charts/days'

test.describe('purchase intents', () => {
  /** Returns a storage, its clock, and intents with keys k1, k2, … */
  function make(storage: SafeStorage = memory()) {
    const clock = { now: 1_000_000 }
    let keys = 0
    const again = () =>
      createPurchaseIntents({ storage, now: () => clock.now, randomKey: () => `k${++keys}` })
    return { storage, clock, intents: again(), again }
  }

  test('are stored before the first attempt', () => {
    const { intents, again } = make()
    expect(intents.open('u1', 'v1')).toBeNull()
    const intent = intents.begin('u1', 'v1')
    expect(again().open('u1', 'v1')).toEqual(intent)
  })

  test('keep their key until they end', () => {
    const { intents, again } = make()
    const first = intents.begin('u1', 'v1')
    expect(intents.begin('u1', 'v1')).toEqual(first)
    expect(again().begin('u1', 'v1')).toEqual(first)
    intents.end('u1', 'v1', first)
    expect(intents.open('u1', 'v1')).toBeNull()
    expect(intents.begin('u1', 'v1').key).not.toBe(first.key)
  })

  test('are separate per user and voucher', () => {
    const { intents } = make()
    const one = intents.begin('u1', 'v1')
    const others = [intents.begin('u2', 'v1'), intents.begin('u1', 'v2')]
    expect(new Set([one, ...others].map(({ key }) => key)).size).toBe(3)
    intents.end('u1', 'v1', one)
    expect(intents.open('u2', 'v1')).toEqual(others[0])
    expect(intents.open('u1', 'v2')).toEqual(others[1])
  })

  test('do not end with an older intent', () => {
    const { intents } = make()
    const old = intents.begin('u1', 'v1')
    intents.end('u1', 'v1', old)
    const now = intents.begin('u1', 'v1')
    intents.end('u1', 'v1', old)
    expect(intents.open('u1', 'v1')).toEqual(now)
  })

  for (const [what, after, same] of [
    ['just before 23 hours', maxIntentAge - 1, true],
    ['after 23 hours', maxIntentAge, false],
    ['when the clock was set back a little', -60_000, true],
    ['when the clock was set back a day', -24 * 3_600_000, false],
  ] as const) {
    test(`${same ? 'keep' : 'change'} the key ${what}`, () => {
      const { intents, clock } = make()
      const { key } = intents.begin('u1', 'v1')
      clock.now += after
      expect(intents.begin('u1', 'v1').key === key).toBe(same)
    })
  }

  test('keep the key after another tab ended them', () => {
    const { intents, clock, again } = make()
    const intent = intents.begin('u1', 'v1')
    again().end('u1', 'v1', intent)
    expect(intents.recent('u1', 'v1', intent)).toEqual(intent)
    expect(intents.begin('u1', 'v1', intent)).toEqual(intent)
    expect(again().open('u1', 'v1')).toEqual(intent)
    // A newer intent of the other tab stays.
    again().end('u1', 'v1', intent)
    const newer = again().begin('u1', 'v1')
    expect(intents.begin('u1', 'v1', intent)).toEqual(intent)
    expect(again().open('u1', 'v1')).toEqual(newer)
    clock.now += maxIntentAge
    expect(intents.begin('u1', 'v1', intent).key).not.toBe(intent.key)
  })

  test('expire before the server forgets keys', () => {
    expect(maxIntentAge).toBe(23 * 3_600_000)
  })

  test('live in memory if the storage fails', () => {
    const full: SafeStorage = {
      getItem: () => null,
      setItem: () => {
        throw new Error('full')
      },
      removeItem: () => undefined,
    }
    const refusing: SafeStorage = {
      getItem: () => {
        throw new Error('denied')
      },
      setItem: () => {
        throw new Error('denied')
      },
      removeItem: () => {
        throw new Error('denied')
      },
    }
    for (const storage of [full, refusing]) {
      const { intents } = make(storage)
      const intent = intents.begin('u1', 'v1')
      expect(intents.begin('u1', 'v1')).toEqual(intent)
      intents.end('u1', 'v1', intent)
      expect(intents.open('u1', 'v1')).toBeNull()
    }
  })

  for (const written of ['', '{', 'null', '7', '{"key":1,"at":2}', '{"key":"k"}', '[]']) {
    test(`survive ${written || 'an empty value'} in the storage`, () => {
      const { storage, intents } = make()
      const { key } = intents.begin('u1', 'v1')
      for (const name of (storage as ReturnType<typeof memory>).keys())
        storage.setItem(name, written)
      expect(intents.open('u1', 'v1')).toBeNull()
      expect(intents.begin('u1', 'v1').key).not.toBe(key)
    })
  }

  test('have unpredictable keys', () => {
    const intents = createPurchaseIntents({ storage: memory() })
    const keys = Array.from({ length: 50 }, (_, i) => intents.begin('u', `v${i}`).key)
    expect(new Set(keys).size).toBe(50)
    for (const key of keys) expect(key).toMatch(/^[0-9a-f]{32}$/)
  })
})

test.describe('responses to a purchase', () => {
  const order = { id: 'o1' }
  for (const [what, answer, outcome] of [
    ['an order', { order, userErrors: [] }, { kind: 'ordered', orderId: 'o1' }],
    [
      'ALREADY_ORDERED with the order',
      { order, userErrors: ['ALREADY_ORDERED'] },
      { kind: 'existing', orderId: 'o1' },
    ],
    [
      'ALREADY_ORDERED without it',
      { order: null, userErrors: ['ALREADY_ORDERED'] },
      { kind: 'existing', orderId: null },
    ],
    [
      'OUT_OF_STOCK',
      { order: null, userErrors: ['OUT_OF_STOCK'] },
      { kind: 'refused', code: 'OUT_OF_STOCK' },
    ],
    [
      'an invalid request',
      { failure: 'BAD_USER_INPUT' },
      { kind: 'refused', code: 'BAD_USER_INPUT' },
    ],
    ['a forbidden request', { failure: 'FORBIDDEN' }, { kind: 'refused', code: 'FORBIDDEN' }],
    ['UNAVAILABLE', { failure: 'UNAVAILABLE' }, { kind: 'unknown', code: 'UNAVAILABLE' }],
    ['RATE_LIMITED', { failure: 'RATE_LIMITED' }, { kind: 'unknown', code: 'RATE_LIMITED' }],
    [
      'UNAUTHENTICATED',
      { failure: 'UNAUTHENTICATED' },
      { kind: 'unknown', code: 'UNAUTHENTICATED' },
    ],
    ['a failed network', { failure: null }, { kind: 'unknown', code: null }],
    [
      'a failure with an order',
      { order, userErrors: [], failure: null },
      { kind: 'unknown', code: null },
    ],
    ['no response', {}, { kind: 'unknown', code: null }],
    ['neither order nor error', { order: null, userErrors: [] }, { kind: 'unknown', code: null }],
  ] as const) {
    test(`${what} is ${outcome.kind}`, () => {
      expect(interpretResponse(answer)).toEqual(outcome)
    })
  }
})

test.describe('order updates', () => {
  // The transitions that the API allows. A skipped state was overtaken.
  const next: Record<OrderStatus, readonly OrderStatus[]> = {
    QUEUED: ['UNPAID', 'FAILED'],
    UNPAID: ['PAID', 'CANCELLED'],
    PAID: ['USED', 'REFUNDING'],
    REFUNDING: ['REFUNDED'],
    USED: ['REFUNDING'], // by an administrator, after a dispute
    CANCELLED: [],
    REFUNDED: [],
    FAILED: [],
  }
  const all = Object.keys(next) as OrderStatus[]
  const at = (status: OrderStatus) => ({
    id: 'o1',
    status,
    redemptionDisputedAt: null as string | null,
  })
  const reaches = (from: OrderStatus, to: OrderStatus): boolean =>
    next[from].some((step) => step === to || reaches(step, to))

  for (const known of all) {
    for (const after of all) {
      const goesOn = known === after || reaches(known, after)
      // No transition leads from one final state to another, so neither is newer.
      if (!goesOn && !reaches(after, known) && !(isFinal(known) && isFinal(after))) continue
      test(`${known}, then ${after}: ${goesOn ? 'moves' : 'stays'}`, () => {
        const before = at(known)
        const update = at(after)
        expect(latestState(before, update)).toBe(goesOn ? update : before)
      })
    }
  }

  test('never move backwards', () => {
    for (const known of all) {
      for (const after of all) {
        const kept = latestState(at(known), at(after))!
        expect(reaches(kept.status, known), `${known}, ${after}`).toBe(false)
        if (next[known].length === 0) expect(kept.status, `${known}, ${after}`).toBe(known)
      }
    }
  })

  test('end in final states and after redemption', () => {
    for (const status of all)
      expect(isFinal(status), status).toBe(status === 'USED' || next[status].length === 0)
  })

  test('keep a dispute that an older update lacks', () => {
    const disputed = { ...at('USED'), redemptionDisputedAt: '2026-11-27T12:00:00Z' }
    expect(latestState(disputed, at('USED'))).toBe(disputed)
    expect(latestState(at('USED'), disputed)).toBe(disputed)
    const refunding = { ...disputed, status: 'REFUNDING' as OrderStatus }
    expect(latestState(disputed, refunding)).toBe(refunding)
  })

  test('accept the first update and other orders', () => {
    const order = at('USED')
    const other = { ...at('QUEUED'), id: 'o2' }
    expect(latestState(null, order)).toBe(order)
    expect(latestState(order, null)).toBe(order)
    expect(latestState(order, undefined)).toBe(order)
    expect(latestState(null, null)).toBeNull()
    expect(latestState(order, other)).toBe(other)
  })
})

test.describe('the map around a shop', () => {
  const spots = {
    town: [30.2448, 120.151],
    equator: [0, 0],
    north: [60.17, 24.94],
    south: [-33.87, 151.21],
  }
  for (const [name, [lat, lng]] of Object.entries(spots) as [string, [number, number]][]) {
    for (const metres of [50, 500, 3000]) {
      test(`measures ${metres} m within 1 % of a globe: ${name}`, () => {
        for (let angle = 0; angle < 360; angle += 15) {
          const [dx, dy] = [Math.sin((angle * Math.PI) / 180), Math.cos((angle * Math.PI) / 180)]
          const from = { lat, lng }
          const to = {
            lat: lat + (dy * metres) / 111_195,
            lng: lng + (dx * metres) / (111_195 * Math.cos((lat * Math.PI) / 180)),
          }
          const { x, y } = offset(to, from)
          const far = haversine(from, to)
          expect(Math.abs(Math.hypot(x, y) - far) / far, `${angle}°`).toBeLessThan(0.01)
          // East is to the right and north is up.
          if (Math.abs(dx) > 0.01) expect(Math.sign(x), `${angle}°`).toBe(Math.sign(dx))
          if (Math.abs(dy) > 0.01) expect(Math.sign(y), `${angle}°`).toBe(-Math.sign(dy))
        }
      })
    }
  }

  const picture = { width: 360, height: 240, margin: 20 }
  for (const [name, at] of [
    ['no neighbours', []],
    ['a shop next door', [{ x: 3, y: -2 }]],
    ['far to the east', [{ x: 900, y: 10 }]],
    ['far to the north', [{ x: 10, y: -900 }]],
    [
      'all around',
      [
        { x: 300, y: 200 },
        { x: -450, y: 90 },
        { x: 20, y: -380 },
      ],
    ],
  ] as const) {
    test(`shows all points: ${name}`, () => {
      const { scale, bar } = fit(at, picture)
      expect(scale).toBeGreaterThan(0)
      for (const { x, y } of at) {
        expect(Math.abs(x) * scale).toBeLessThanOrEqual(picture.width / 2 - picture.margin + 1e-9)
        expect(Math.abs(y) * scale).toBeLessThanOrEqual(picture.height / 2 - picture.margin + 1e-9)
      }
      // It never zooms in beyond 120 m.
      expect(120 * scale).toBeLessThanOrEqual(picture.height / 2 - picture.margin + 1e-9)
      expect(bar * scale).toBeLessThanOrEqual(picture.width / 3)
      expect([20, 50, 100, 200, 500, 1000]).toContain(bar)
    })
  }

  test('separates overlapping numbers only', () => {
    const centre = { x: 0, y: 0 }
    const at = [
      { x: 0, y: 0 },
      { x: 50, y: 50 },
      { x: 50, y: 50 },
      { x: 52, y: 50 },
    ]
    const moved = spreadApart(at, centre, 3, 20)
    const [a, b, c] = moved as [Point, Point, Point]
    for (const [one, other] of [
      [a, centre],
      [b, c],
      [a, b],
      [a, c],
    ] as const)
      expect(Math.hypot(one.x - other.x, one.y - other.y)).toBeGreaterThan(19)
    expect(moved[3]).toEqual(at[3])
    expect(at[0]).toEqual({ x: 0, y: 0 })
  })
})

test.describe('the feed', () => {
  const note = (n: number): FeedNote => ({
    id: `n${n}`,
    createdAt: new Date(n * 1000).toISOString(),
    authorId: n % 2 === 0 ? 'even' : 'odd',
  })
  const added = (n: number) => ({ kind: 'added', note: note(n) }) as const
  const removed = (n: number) => ({ kind: 'removed', noteId: `n${n}` }) as const
  const page = (liveCursor: string, ns: readonly number[], more = false): FirstPage => ({
    liveCursor,
    notes: ns.map(note),
    more,
  })
  const waiting = (feed: Feed) => feed.waiting.map(({ id }) => id)
  const opened = withPage(emptyFeed, page('c3', [3, 2], true))

  test('starts updates at its first page', () => {
    expect(opened.start).toBe('c3')
    expect(withPage(opened, page('c9', [3, 2])).start).toBe('c3')
    const early = withStart(emptyFeed, 'c1')
    expect(early.start).toBe('c1')
    expect(withPage(early, page('c3', [3])).start).toBe('c3')
  })

  test('is ready after all missed updates', () => {
    expect(opened.ready).toBe(false)
    const ready = withUpdate(opened, { kind: 'ready' })
    expect(ready.ready).toBe(true)
    expect(withStart(ready, 'c3').ready).toBe(true)
    expect(withStart(ready, 'c4').ready).toBe(false)
  })

  test('collects unread notes once, newest first', () => {
    const feed = [added(4), added(5), added(4), added(5)].reduce(withUpdate, opened)
    expect(waiting(feed)).toEqual(['n5', 'n4'])
  })

  test('does not mark notes on pages as unread', () => {
    expect(waiting(withUpdate(opened, added(3)))).toEqual([])
    expect(waiting(withUpdate(opened, added(1)))).toEqual([])
    // Without later pages, an unknown note is new.
    const whole = withPage(emptyFeed, page('c3', [3, 2]))
    expect(waiting(withUpdate(whole, added(1)))).toEqual(['n1'])
    expect(waiting(withPage(withUpdate(opened, added(4)), page('c4', [4, 3], true)))).toEqual([])
  })

  test('prepends unread notes once', () => {
    const two = [added(4), added(5)].reduce(withUpdate, opened)
    const top = withShown(two, waiting(two))
    expect(waiting(top)).toEqual([])
    expect(top.prepended).toEqual([['n5', 'n4']])
    expect([...hiddenIds(top)]).toEqual(['n5', 'n4'])
    expect(waiting(withUpdate(top, added(5)))).toEqual([])
    const more = withUpdate(top, added(6))
    expect(withShown(more, ['n6']).prepended).toEqual([['n6'], ['n5', 'n4']])
    // The same page from the cache changes nothing.
    expect(withPage(top, page('c3', [3, 2], true)).prepended).toEqual(top.prepended)
    expect(withPage(top, page('c5', [5, 4], true)).prepended).toEqual([])
  })

  test('keeps notes that arrive during a prepend', () => {
    const feed = [added(4), added(5)].reduce(withUpdate, opened)
    expect(waiting(withShown(feed, ['n4']))).toEqual(['n5'])
  })

  test('drops deleted notes in any order of updates', () => {
    expect(waiting([added(4), removed(4)].reduce(withUpdate, opened))).toEqual([])
    expect(waiting([removed(4), added(4)].reduce(withUpdate, opened))).toEqual([])
    expect([...hiddenIds(withUpdate(opened, removed(3)))]).toEqual(['n3'])
    const late = withUpdate(withUpdate(opened, added(4)), removed(4))
    expect(withShown(late, ['n4']).prepended).toEqual([])
  })

  test('drops notes of an unfollowed author', () => {
    const top = withShown([added(4), added(5), added(6)].reduce(withUpdate, opened), ['n4', 'n5'])
    const feed = withoutAuthor([added(7), added(8)].reduce(withUpdate, top), 'even')
    expect(waiting(feed)).toEqual(['n7'])
    expect(feed.prepended).toEqual([['n5']])
    expect([...hiddenIds(feed)]).toEqual(['n5'])
    // After following again, new notes of the author arrive and notes on pages are shown.
    expect(waiting(withUpdate(feed, added(10)))).toEqual(['n10', 'n7'])
    const none = withoutAuthor(feed, 'odd')
    expect([none.waiting, none.prepended, none.prependedNotes]).toEqual([[], [], []])
  })

  test('keeps prepended notes over an older page', () => {
    const resynced = withUpdate(opened, { kind: 'resync' })
    const top = withShown(withUpdate(resynced, added(6)), ['n6'])
    const read = withPage(top, page('c5', [5, 4], true))
    expect(read.prepended).toEqual([['n6']])
    expect(waiting(read)).toEqual([])
  })

  test('restarts after a resync and after ended updates', () => {
    const before = withShown([added(4), added(5)].reduce(withUpdate, opened), ['n4'])
    const resynced = withUpdate(before, { kind: 'resync' })
    expect(resynced.generation).toBe(before.generation + 1)
    expect([resynced.waiting, resynced.prepended]).toEqual([[], []])
    expect(resynced.start).toBe('c3')
    const ended = restarted(withUpdate(before, removed(2)))
    expect(ended.generation).toBe(before.generation + 1)
    expect(ended.start).toBeNull()
    expect(ended.page).toBeNull()
    expect(ended.removed.has('n2')).toBe(true)
  })

  // Notes are published and deleted at random, pages and updates arrive late, and updates repeat.
  // At each step the feed shows each announced note once, newest first.
  for (let walk = 0; walk < 20; walk++) {
    test(`shows each note once on random walk ${walk}`, () => {
      const seed = (Date.now() + walk * 7919) >>> 0
      console.log(`walk ${walk}: seed ${seed}`)
      simulateFeed(seed, 600)
    })
  }
})

test.describe('field parsing', () => {
  for (const [written, minor] of [
    ['12.50', 1250],
    ['12.5', 1250],
    ['¥12', 1200],
    ['￥ 1,234.56', 123_456],
    ['1，000', 100_000],
    ['0', 0],
    ['0.29', 29],
    ['1.15', 115],
    ['', null],
    ['-1', null],
    ['1.234', null],
    ['1e3', null],
    ['twelve', null],
    // Decimal separators of other regions and keypads.
    ['12,50', 1250],
    ['7,5', 750],
    ['12。5', 1250],
    ['12．50', 1250],
    ['１２.５０', 1250],
    ['１２，５', 1250],
    ['12｡5', 1250],
    ['.5', 50],
    ['12,', 1200],
    // Digits of other scripts.
    ['١٢٫٥٠', 1250],
    ['۱۲٫۵', 1250],
    ['१२.५०', 1250],
    ['১২৫', 12_500],
    ['\u{1d7d9}\u{1d7da}', 1200],
    // Digit groups.
    ['1,200', 120_000],
    ['1.200,50', 120_050],
    ['1,200.50', 120_050],
    ['1 200', 120_000],
    ['1\u00a0200,5', 120_050],
    ['1\u202f200', 120_000],
    ["1'200.50", 120_050],
    ['1’200’000', 120_000_000],
    ['١٬٢٠٠٫٥٠', 120_050],
    ['1.200.000', 120_000_000],
    ['1,20,000', 12_000_000],
    ['31,000,000.00', 3_100_000_000],
    // Invisible characters.
    ['\u200f12,50\u200e', 1250],
    ['12\u200b.5', 1250],
    ['12.50元', 1250],
    // Invalid amounts.
    ['0.5.5', null],
    ['0,125', null],
    ['1,2345', null],
    ['1,20.5', null],
    ['1.2,3', null],
    ['12 50', null],
    ['1 200,500', null],
    ['1,200,30', null],
    ['1.200.30', null],
    ['1,200.300', null],
    ['1٫2٫3', null],
    ['10²', null],
    ['①', null],
    ['一百', null],
    ['12,50,', null],
    ['.', null],
    ['٫', null],
    ['--1', null],
    ['0x10', null],
    ['99999999999999999999', null],
  ] as const) {
    const quoted = JSON.stringify(written)
    test(`${quoted} is ${minor === null ? 'not an amount' : `${minor} fen`}`, () => {
      expect(parseMinor(written)).toBe(minor)
    })
  }

  for (const written of ['1.200', '12.000', '１.２００', '999。999', '١.٢٠٠']) {
    test(`${written} is ambiguous`, () => {
      expect(parseAmount(written)).toBe('ambiguous')
      expect(parseMinor(written)).toBeNull()
    })
  }

  test('amounts round-trip', () => {
    for (const minor of [0, 1, 10, 99, 100, 1250, 3900, 99_999_999])
      expect(parseMinor(formatYuan(minor))).toBe(minor)
    expect([formatYuan(null), formatYuan(1250), formatYuan(3900)]).toEqual(['', '12.50', '39'])
  })

  test('times round-trip to the minute', () => {
    for (const moment of ['2026-01-01T00:00:00.000Z', '2026-07-31T23:59:00.000Z'])
      expect(fromLocalInput(toLocalInput(moment))).toBe(moment)
    expect(fromLocalInput('')).toBeNull()
  })

  test('blank text is null', () => {
    expect([trimToNull('  '), trimToNull(' a b ')]).toEqual([null, 'a b'])
  })

  for (const [written, whole] of [
    ['-10', -10],
    ['−10', -10],
    ['－１０', -10],
    ['+5', 5],
    [' 7 ', 7],
    ['１００', 100],
    ['1,200', 1200],
    ['1 200', 1200],
    ['١٠٠', 100],
    ['100.0', 100],
    ['-0', 0],
    ['1.5', null],
    ['1,5', null],
    ['1.200', null],
    ['', null],
    ['x', null],
    ['Infinity', null],
  ] as const) {
    test(`${JSON.stringify(written)} is ${whole === null ? 'not an integer' : whole}`, () => {
      expect(parseInteger(written)).toBe(whole)
    })
  }

  for (const [written, degrees] of [
    ['30.2448', 30.2448],
    ['30,2448', 30.2448],
    ['120,151', 120.151],
    ['120.151', 120.151],
    ['-33.87', -33.87],
    ['−33,87', -33.87],
    ['３０．２４', 30.24],
    ['٣٠٫٢٤', 30.24],
    ['1,200.5', null],
    ['1 200', null],
    ['30.24.48', null],
    ['', null],
    ['north', null],
  ] as const) {
    test(`${JSON.stringify(written)} is ${degrees === null ? 'not an angle' : `${degrees}°`}`, () => {
      expect(parseDegrees(written)).toBe(degrees)
    })
  }

  for (const [written, digits] of [
    ['123456', '123456'],
    ['123 456', '123456'],
    ['123456 ', '123456'],
    ['１２３４５６', '123456'],
    ['123‑456', '123456'],
    ['123–456\n', '123456'],
    ['\u200e123\u200b456', '123456'],
    ['1\ufe0f\u20e32\ufe0f\u20e3', '12'],
    ['١٢٣٤٥٦', '123456'],
    ['(123)456.', '123456'],
    ['12345O', null],
    ['½', null],
    ['', null],
    [' - ', null],
  ] as const) {
    test(`the digits of ${JSON.stringify(written)} are ${digits ?? 'none'}`, () => {
      expect(parseDigits(written)).toBe(digits)
    })
  }
})

test.describe('the return path of the sign-in', () => {
  const site = 'https://shops.example'
  for (const page of [
    '/',
    '/orders',
    '/orders?status=paid',
    '/merchant/shops/U2hvcDox?part=figures#sales',
    '/publish?shop=U2hvcDox',
    '/search?q=%26%2F%2Fa%5Cb&type=',
    '/users/a%2Fb',
    '/orders#//elsewhere.example',
    '/search?q=https://elsewhere.example',
  ]) {
    test(`preserves ${page}`, () => {
      const { searchParams } = new URL(signInTo(new URL(page, site)), site)
      expect(returnPath(searchParams.get('to'), site)).toBe(page)
    })
  }

  for (const to of [
    null,
    '',
    'orders',
    '//elsewhere.example',
    '///elsewhere.example',
    '/\\elsewhere.example',
    '\\\\elsewhere.example',
    '/\t/elsewhere.example',
    '/\n\\elsewhere.example',
    '\t//elsewhere.example',
    ' //elsewhere.example',
    '/.//elsewhere.example',
    '/a/..//elsewhere.example',
    '/%2e%2e//elsewhere.example',
    'https://elsewhere.example/',
    'https:elsewhere.example',
    'https:/orders',
    'javascript:alert(1)',
    'data:text/html,hello',
    '@elsewhere.example',
    '.elsewhere.example',
    '/signin',
    '/signin?to=/signin',
    '/\u0000orders',
    '//[',
  ]) {
    test(`rejects ${JSON.stringify(to)}`, () => {
      expect(returnPath(to, site)).toBe('/')
    })
  }
})

test('only right-to-left text is isolated', () => {
  expect(isolate('مقهى')).toBe('\u2068مقهى\u2069')
  expect(isolate('קפה 1')).toBe('\u2068קפה 1\u2069')
  expect(isolate(isolate('مقهى'))).toBe(isolate('مقهى'))
  expect(['荷塘小面', 'Café (2)!', ''].map(isolate)).toEqual(['荷塘小面', 'Café (2)!', ''])
})

test.describe('opening hours', () => {
  const range = (text: string) => {
    const [opens = '', closes = ''] = text.split('-')
    return { opens, closes }
  }
  const week = (...days: string[]) =>
    days.map((day, i) => ({
      weekday: i + 1,
      ranges: day.split(' ').filter(Boolean).map(range),
    }))
  /** Groups as text: 2-7 17:30–22:00. */
  const grouped = (...days: string[]) =>
    groupDays(week(...days)).map(({ first, last, ranges, allDay }) =>
      [`${first}-${last}`, ...ranges, ...(allDay ? ['always'] : [])].join(' '),
    )

  test('join equal days', () => {
    const evening = '17:30-22:00'
    expect(grouped('', ...Array<string>(6).fill(evening))).toEqual(['1-1', '2-7 17:30–22:00'])
    expect(grouped(...Array<string>(7).fill('00:00-24:00'))).toEqual(['1-7 0:00–24:00 always'])
    expect(grouped(evening, '', evening, '', evening, '', '')).toEqual([
      '1-1 17:30–22:00',
      '2-2',
      '3-3 17:30–22:00',
      '4-4',
      '5-5 17:30–22:00',
      '6-7',
    ])
  })

  test('end on the clock after midnight', () => {
    const long = '11:00-14:00 17:00-26:30'
    expect(grouped(...Array<string>(7).fill(long))).toEqual(['1-7 11:00–14:00 17:00–2:30'])
    expect(grouped('18:00-24:00', '18:00-33:00', '', '', '', '', '')[1]).toBe('2-2 18:00–9:00')
  })

  // A Wednesday, 20:00 in Shanghai.
  const now = Date.parse('2026-05-20T12:00:00Z')
  for (const [what, isOpen, change, zone, want] of [
    ['closes today', true, '2026-05-20T14:00:00Z', 'Asia/Shanghai', '22:00 in 0 soon'],
    ['closes at midnight', true, '2026-05-20T16:00:00Z', 'Asia/Shanghai', '24:00 in 0 soon'],
    ['closes after midnight', true, '2026-05-20T18:30:00Z', 'Asia/Shanghai', '2:30 in 1 soon'],
    ['opens at midnight', false, '2026-05-20T16:00:00Z', 'Asia/Shanghai', '0:00 in 1 soon'],
    ['opens tomorrow', false, '2026-05-21T01:00:00Z', 'Asia/Shanghai', '9:00 in 1 soon'],
    ['opens on Monday', false, '2026-05-25T01:00:00Z', 'Asia/Shanghai', '9:00 in 5'],
    ['opens elsewhere', false, '2026-05-20T13:00:00Z', 'America/New_York', '9:00 in 0 soon'],
  ] as const) {
    test(`tell when a shop ${what}`, () => {
      const { open, change: next } = openStateAt(now, isOpen, change, zone)
      expect(open).toBe(isOpen)
      const { time, inDays, soon } = next!
      expect(`${time} in ${inDays}${soon ? ' soon' : ''}`).toBe(want)
    })
  }

  test('change when the next change passes', () => {
    const at = '2026-05-20T12:00:00Z'
    expect(openStateAt(now - 1, true, at, 'UTC').open).toBe(true)
    expect(openStateAt(now, true, at, 'UTC')).toEqual({ open: false, change: null })
    expect(openStateAt(now, false, at, 'UTC')).toEqual({ open: true, change: null })
    expect(openStateAt(now, true, null, 'UTC')).toEqual({ open: true, change: null })
  })

  test('need no known zone for the state', () => {
    const at = '2026-05-20T14:00:00Z'
    expect(openStateAt(now, true, at, 'Moon/Sea')).toEqual({ open: true, change: null })
    expect(weekdayAt(now, 'Moon/Sea')).toBeNull()
  })

  test('follow the weekday of the shop', () => {
    expect(weekdayAt(now, 'Asia/Shanghai')).toBe(3)
    expect(weekdayAt(Date.parse('2026-05-24T16:30:00Z'), 'Asia/Shanghai')).toBe(1)
    expect(weekdayAt(Date.parse('2026-05-24T16:30:00Z'), 'UTC')).toBe(7)
    expect(weekdayOf(Date.UTC(2024, 0, 1))).toBe(1)
  })
})

test('phones and websites become safe links', () => {
  expect(phoneUrl('+84 24 3825 1234; +84 90 000')).toBe('tel:+842438251234')
  expect(phoneUrl('(0571) 8700-0000')).toBe('tel:057187000000')
  expect(phoneUrl('ask inside')).toBeNull()
  const found = { url: 'https://www.example.com/a', name: 'example.com' }
  expect(websiteLink('https://www.example.com/a')).toEqual(found)
  for (const bad of ['javascript:alert(1)', 'data:text/html,hello', 'ftp://a.example', 'example'])
    expect(websiteLink(bad), bad).toBeNull()
})

test('the URL of a search sets its filters', () => {
  const filter = (query: string) => filterOf(new URLSearchParams(query))
  expect(filter('open=1&score=4.5&price=50-100&voucher=1&sale=1')).toEqual({
    openNow: true,
    minScore: 4.5,
    minPrice: 5000,
    maxPrice: 9999,
    hasVoucher: true,
    hasFlashSale: true,
  })
  expect(filter('price=0-50')).toEqual({ maxPrice: 4999 })
  expect(filter('price=200-')).toEqual({ minPrice: 20_000 })
  expect(filter('open=2&score=3&price=1-2&voucher=no&sale=')).toEqual({})
})

test('the last days end with the given day', () => {
  expect(lastDays(30, '2026-03-01')).toEqual({ from: '2026-01-31', to: '2026-03-01' })
  expect(lastDays(1, '2024-02-29')).toEqual({ from: '2024-02-29', to: '2024-02-29' })
})

test.describe('in both languages', () => {
  // These modules read the browser's settings on import.
  test.beforeAll(() => {
    const page = new EventTarget()
    Object.assign(page, { documentElement: {}, visibilityState: 'visible' })
    const browser = { localStorage: memory(), document: page, navigator: { languages: ['en'] } }
    for (const [name, value] of Object.entries(browser))
      Object.defineProperty(globalThis, name, { value, configurable: true })
  })
  const formats = async (language: 'en' | 'zh') =>
    (await import('../app/src/i18n/format')).formats(language)

  for (const [minor, written] of [
    [1250, '¥12.50'],
    [3900, '¥39'],
    [0, '¥0'],
    [5, '¥0.05'],
    [123_456_00, '¥123,456'],
    [3_100_000_000, '¥31,000,000'],
    [3_100_000_001, '¥31,000,000.01'],
    [900_719_925_474_099, '¥9,007,199,254,740.99'],
  ] as const) {
    test(`money: ${minor} fen is ${written}`, async () => {
      expect((await formats('en')).money(minor)).toBe(written)
      expect((await formats('zh')).money(minor)).toBe(written)
    })
  }

  for (const [metres, en, zh] of [
    [0, '10 m', '10 米'],
    [38, '40 m', '40 米'],
    [994, '990 m', '990 米'],
    [995, '1 km', '1 公里'],
    [1234, '1.2 km', '1.2 公里'],
    [12_345, '12.3 km', '12.3 公里'],
  ] as const) {
    test(`distance: ${metres} m is ${en}`, async () => {
      expect((await formats('en')).distance(metres)).toBe(en)
      expect((await formats('zh')).distance(metres)).toBe(zh)
    })
  }

  const now = Date.parse('2026-05-20T12:00:00Z')
  for (const [seconds, en, zh] of [
    [-30, 'just now', '刚刚'],
    [0, 'just now', '刚刚'],
    [59, 'just now', '刚刚'],
    [61, '1 minute ago', '1 分钟前'],
    [3599, '59 minutes ago', '59 分钟前'],
    [3601, '1 hour ago', '1 小时前'],
    [86_399, '23 hours ago', '23 小时前'],
    [86_401, 'yesterday', '昨天'],
    [3 * 86_400 + 1, '3 days ago', '3 天前'],
  ] as const) {
    test(`ago: ${seconds} s is ${en}`, async () => {
      const moment = new Date(now - seconds * 1000).toISOString()
      expect((await formats('en')).ago(moment, now)).toBe(en)
      expect((await formats('zh')).ago(moment, now)).toBe(zh)
    })
  }

  // Days count midnights in the user's time zone. In Berlin, clocks went forward on 29 March 2026
  // and back on 25 October.
  for (const [zone, of, read, en, zh] of [
    ['Asia/Shanghai', '2026-05-18T10:00', '2026-05-20T09:00', '2 days ago', '前天'],
    ['Asia/Shanghai', '2026-05-18T23:30', '2026-05-20T00:30', '2 days ago', '前天'],
    ['Asia/Shanghai', '2026-05-19T00:30', '2026-05-20T23:30', 'yesterday', '昨天'],
    ['Asia/Shanghai', '2026-05-19T23:59', '2026-05-20T00:01', '2 minutes ago', '2 分钟前'],
    ['Asia/Shanghai', '2026-05-19T18:00', '2026-05-20T09:00', '15 hours ago', '15 小时前'],
    ['Asia/Shanghai', '2026-05-13T23:59', '2026-05-20T00:01', '7 days ago', '7 天前'],
    ['America/Los_Angeles', '2026-05-18T23:30', '2026-05-20T00:30', '2 days ago', '前天'],
    ['Europe/Berlin', '2026-03-28T12:00', '2026-03-29T13:30', 'yesterday', '昨天'],
    ['Europe/Berlin', '2026-03-28T23:30', '2026-03-30T00:30', '2 days ago', '前天'],
    ['Europe/Berlin', '2026-10-25T00:10', '2026-10-25T23:50', '24 hours ago', '24 小时前'],
    ['Europe/Berlin', '2026-10-24T23:50', '2026-10-26T00:10', '2 days ago', '前天'],
  ] as const) {
    test(`ago: ${of} is ${en} at ${read} in ${zone}`, async () => {
      const before = process.env['TZ']
      process.env['TZ'] = zone
      try {
        const [moment, at] = [new Date(of).toISOString(), new Date(read).getTime()]
        expect((await formats('en')).ago(moment, at)).toBe(en)
        expect((await formats('zh')).ago(moment, at)).toBe(zh)
      } finally {
        if (before === undefined) delete process.env['TZ']
        else process.env['TZ'] = before
      }
    })
  }

  test('text length and graphemes match the API', async () => {
    const { cut, graphemes, initialOf, textLength, simpleGraphemes } =
      await import('../app/src/ui/graphemes')
    const family = '👨‍👩‍👧‍👦'
    const china = '🇨🇳'
    for (const [text, n] of [
      ['荷塘', 2],
      [family, 7],
      [china, 2],
      ['𠮷', 1],
      ['e\u0301', 1],
      ['  a   b ', 3],
      ['a\u200bb\ufeff', 2],
      ['a\u202eb', 2],
      ['a \u200b b', 3],
      ['a\n\n\n\nb', 4],
      ['a\r\nb', 3],
      ['\n a \n', 1],
    ] as const)
      expect(textLength(text), JSON.stringify(text)).toBe(n)
    for (const [name, initial] of [
      [`${family} Li`, family],
      [`${china}旅行`, china],
      ['👍🏽 ok', '👍🏽'],
      ['e\u0301mile', 'e\u0301'],
      ['李雷', '李'],
      ['\u200b李', '李'],
      [' a', 'a'],
      ['', ''],
    ] as const)
      expect(initialOf(name), name).toBe(initial)
    for (const text of [
      family + china + 'e\u0301👍🏽荷a',
      china + china,
      '🏴\u{e0067}\u{e0062}\u{e007f}!',
    ])
      expect(simpleGraphemes(text), text).toEqual(graphemes(text))
    expect(cut(`ab${family}c`, 8)).toBe('ab')
    expect(cut(`ab${family}c`, 9)).toBe(`ab${family}`)
    expect(cut('abc', 3)).toBe('abc')
  })

  test('dates do not depend on the time zone', async () => {
    const [en, zh] = [await formats('en'), await formats('zh')]
    expect([en.date('2026-05-01'), zh.date('2026-05-01')]).toEqual(['1 May 2026', '2026年5月1日'])
    expect([en.month('2026-05'), zh.month('2026-05')]).toEqual(['May 2026', '2026年5月'])
    const old = '2026-05-01T12:00:00Z'
    expect(en.ago(old, now)).toBe(en.date(old))
    expect([en.percent(0.9876), zh.number(12_345)]).toEqual(['98.8%', '12,345'])
  })

  for (const [what, at, stock, phase] of [
    ['before it opens', -1, 5, 'UPCOMING'],
    ['before it opens, without stock', -1, 0, 'UPCOMING'],
    ['as it opens', 0, 5, 'OPEN'],
    ['without stock', 0, 0, 'SOLD_OUT'],
    ['just before it closes', 3_599_999, 1, 'OPEN'],
    ['as it closes', 3_600_000, 5, 'ENDED'],
    ['long after, without stock', 9_000_000, 0, 'ENDED'],
  ] as const) {
    test(`a sale ${what} is ${phase}`, async () => {
      const { phaseAt } = await import('../app/src/vouchers/phase')
      const begins = Date.parse('2026-05-20T12:00:00Z')
      const sale = {
        voucherId: 'v1',
        stock,
        initialStock: 5,
        beginsAt: '2026-05-20T12:00:00Z',
        endsAt: '2026-05-20T13:00:00Z',
      }
      for (const stale of ['UPCOMING', 'OPEN', 'SOLD_OUT', 'ENDED'] as const)
        expect(phaseAt({ ...sale, phase: stale }, begins + at)).toBe(phase)
    })
  }
})

test('an expired session ends, a newer one stays', async () => {
  const localStorage = memory()
  const window = { localStorage, addEventListener: () => undefined }
  Object.defineProperty(globalThis, 'window', { value: window, configurable: true })
  const { begin, currentSession, expire } = await import('../app/src/session/session')
  const [ann, bob] = [
    { token: 'a', userId: 'ann' },
    { token: 'b', userId: 'bob' },
  ]
  begin(ann)
  localStorage.setItem('tandian.session', JSON.stringify(bob))
  expire('a')
  expect(currentSession()).toEqual(bob)
  expire('a')
  expect(currentSession()).toEqual(bob)
  expire('b')
  expect(currentSession()).toBeNull()
  expect(localStorage.keys()).toEqual([])
  Reflect.deleteProperty(globalThis, 'window')
})

interface Point {
  x: number
  y: number
}

/** An in-memory storage. */
function memory(): SafeStorage & { keys: () => string[] } {
  const items = new Map<string, string>()
  return {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => void items.set(key, value),
    removeItem: (key) => void items.delete(key),
    keys: () => [...items.keys()],
  }
}

const rad = (degrees: number) => (degrees * Math.PI) / 180

/** Returns the distance on a globe, in metres. */
function haversine(a: { lat: number; lng: number }, b: { lat: number; lng: number }): number {
  const h =
    Math.sin(rad(b.lat - a.lat) / 2) ** 2 +
    Math.cos(rad(a.lat)) * Math.cos(rad(b.lat)) * Math.sin(rad(b.lng - a.lng) / 2) ** 2
  return 2 * 6_371_008.8 * Math.asin(Math.sqrt(h))
}

/** mulberry32: reproducible random numbers from 0 to 1. */
function random(seed: number): () => number {
  let a = seed
  return () => {
    a = (a + 0x6d2b79f5) | 0
    let t = Math.imul(a ^ (a >>> 15), 1 | a)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

/**
 * Throws if a condition is false. The runner records a step for each `expect`, which is too slow
 * here.
 */
function assertTrue(holds: boolean, why: string): void {
  if (!holds) throw new Error(why)
}

/** Simulates a server and one reader for a number of random steps. */
function simulateFeed(seed: number, steps: number): void {
  const chance = random(seed)
  const below = (n: number) => Math.floor(chance() * n)
  const size = 4 // notes on the first page

  // The server's log. A cursor is an index into it.
  const log: ({ kind: 'added'; note: FeedNote } | { kind: 'removed'; noteId: string })[] = []
  const alive: FeedNote[] = [] // newest first
  let count = 0
  const read = (): FirstPage => ({
    liveCursor: String(log.length),
    notes: alive.slice(0, size),
    more: alive.length > size,
  })

  // The reader.
  let feed = emptyFeed
  let pendingPage: FirstPage | null = null // a page that was read and has not arrived
  let pendingIds: readonly string[] | null = null // unread notes being moved to the top
  let delivered = 0 // delivered log entries since `from`
  let from: string | null = null // where updates start
  const listen = () => {
    if (feed.start === from) return
    from = feed.start
    delivered = Number(from ?? 0)
  }

  const acts: Record<string, () => void> = {
    publish: () => {
      const createdAt = new Date(++count * 1000).toISOString()
      const note = { id: `n${count}`, createdAt, authorId: 'author' }
      alive.unshift(note)
      log.push({ kind: 'added', note })
    },
    remove: () => {
      const [gone] = alive.splice(below(alive.length), 1)
      if (gone) log.push({ kind: 'removed', noteId: gone.id })
    },
    deliver: () => {
      if (from === null || delivered >= log.length) return
      feed = withUpdate(feed, log[delivered++]!)
      if (delivered === log.length) feed = withUpdate(feed, { kind: 'ready' })
    },
    repeat: () => {
      if (from !== null) delivered = Number(from)
    },
    read: () => (pendingPage ??= read()),
    arrive: () => {
      if (pendingPage !== null) feed = withPage(feed, pendingPage)
      pendingPage = null
    },
    press: () => (pendingIds ??= feed.waiting.length > 0 ? feed.waiting.map(({ id }) => id) : null),
    top: () => {
      if (pendingIds !== null) feed = withShown(feed, pendingIds)
      pendingIds = null
    },
    resync: () => {
      if (from === null || chance() < 0.8) return
      feed = withUpdate(feed, { kind: 'resync' })
      delivered = log.length
      pendingIds = null
      pendingPage = read()
    },
    disconnect: () => {
      if (chance() < 0.8) return
      feed = restarted(feed)
      pendingIds = null
      pendingPage = read()
    },
  }
  const often = [
    'publish',
    'publish',
    'publish',
    'deliver',
    'deliver',
    'deliver',
    'deliver',
    'arrive',
    'top',
  ]
  const names = [...Object.keys(acts), ...often]
  const done: string[] = []
  const check = () => {
    if (feed.page === null || (pendingPage !== null && feed.generation !== generation)) return
    generation = feed.generation
    const why = `seed ${seed}, after ${done.slice(-12).join(' ')}`
    const away = hiddenIds(feed)
    const prepended = feed.prepended.flat().filter((id) => !feed.removed.has(id))
    const first = feed.page.notes
    const last = first.at(-1)
    const behind = feed.page.more && last ? alive.filter((n) => n.createdAt < last.createdAt) : []
    const pages = [...first, ...behind].map(({ id }) => id).filter((id) => !away.has(id))
    const waits = feed.waiting.map(({ id }) => id)
    const list = [...waits, ...prepended, ...pages]
    const unique = new Set(list)
    assertTrue(unique.size === list.length, `shown twice: ${list.join(' ')}; ${why}`)
    const announced = new Set(
      log.slice(0, delivered).flatMap((e) => (e.kind === 'added' ? [e.note.id] : [])),
    )
    const missed = alive.filter(({ id }) => announced.has(id) && !unique.has(id))
    assertTrue(missed.length === 0, `missed ${JSON.stringify(missed)}; ${why}`)
    const living = new Set(alive.map(({ id }) => id))
    for (const ids of [waits, [...prepended, ...pages]]) {
      // A deleted note can stay unread until its update arrives.
      const order = ids.filter((id) => living.has(id)).map((id) => Number(id.slice(1)))
      assertTrue(
        order.every((n, i) => i === 0 || n < order[i - 1]!),
        `not newest first: ${order.join(' ')}; ${why}`,
      )
    }
    for (const id of feed.removed) assertTrue(!unique.has(id), `removed but shown: ${id}; ${why}`)
  }
  let generation = 0
  const act = (name: string) => {
    done.push(name)
    acts[name]!()
    listen()
    check()
  }

  for (let i = 0; i < 8; i++) act('publish')
  act('read')
  act('arrive')
  for (let i = 0; i < steps; i++) act(names[below(names.length)]!)

  // When everything has arrived, the reader shows exactly the server's notes.
  act('arrive')
  if (feed.page === null) {
    act('read')
    act('arrive')
  }
  act('top')
  while (delivered < log.length) act('deliver')
  act('press')
  act('top')
  const away = hiddenIds(feed)
  const last = feed.page!.notes.at(-1)
  const behind = feed.page!.more && last ? alive.filter((n) => n.createdAt < last.createdAt) : []
  const list = [
    ...feed.prepended.flat().filter((id) => !feed.removed.has(id)),
    ...[...feed.page!.notes, ...behind].map(({ id }) => id).filter((id) => !away.has(id)),
  ]
  expect(list, `seed ${seed}`).toEqual(alive.map(({ id }) => id))
}
