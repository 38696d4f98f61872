// What the app decides without a browser: its pure modules, as tables.
/* oxlint-disable unicorn/consistent-function-scoping -- a table stands beside what makes it */

import { expect, test } from '@playwright/test'

import type { OrderStatus } from '../app/src/api/types.gql'
import type { Shelf } from '../app/src/app/shelf'
import { judge, longest, makeIntents } from '../app/src/orders/intents'
import { isFinal, newest } from '../app/src/orders/progress'
import { apart, fit, offset } from '../app/src/shops/map'
import {
  begun,
  broken,
  hidden,
  nothing,
  paged,
  shown,
  told,
  unfollowed,
  type Feed,
  type FirstPage,
  type Told,
} from '../app/src/feed/feed'
import { digitsOf } from '../app/src/forms/number'
import {
  amountOf,
  degreesOf,
  localOf,
  minorOf,
  momentOf,
  textOf,
  wholeOf,
  yuanOf,
} from '../app/src/forms/written'
import { isolate } from '../app/src/i18n/isolate'
import { returnPath, signInTo } from '../app/src/session/returnPath'
import { lastDays } from '../app/src/charts/days'

test.describe('an intent to buy', () => {
  /** A shelf, its clock, and intents with keys k1, k2, … */
  function make(shelf: Shelf = memory()) {
    const clock = { now: 1_000_000 }
    let keys = 0
    const again = () => makeIntents({ shelf, now: () => clock.now, randomKey: () => `k${++keys}` })
    return { shelf, clock, intents: again(), again }
  }

  test('is kept before the first try, so that a page that dies has it again', () => {
    const { intents, again } = make()
    expect(intents.open('u1', 'v1')).toBeNull()
    const intent = intents.begin('u1', 'v1')
    expect(again().open('u1', 'v1')).toEqual(intent)
  })

  test('keeps its key until it is ended, and then begins with another', () => {
    const { intents, again } = make()
    const first = intents.begin('u1', 'v1')
    expect(intents.begin('u1', 'v1')).toEqual(first)
    expect(again().begin('u1', 'v1')).toEqual(first)
    intents.end('u1', 'v1', first)
    expect(intents.open('u1', 'v1')).toBeNull()
    expect(intents.begin('u1', 'v1').key).not.toBe(first.key)
  })

  test('is one of its own for another user and for another voucher', () => {
    const { intents } = make()
    const one = intents.begin('u1', 'v1')
    const others = [intents.begin('u2', 'v1'), intents.begin('u1', 'v2')]
    expect(new Set([one, ...others].map(({ key }) => key)).size).toBe(3)
    intents.end('u1', 'v1', one)
    expect(intents.open('u2', 'v1')).toEqual(others[0])
    expect(intents.open('u1', 'v2')).toEqual(others[1])
  })

  test('is not ended by the answer to an older one', () => {
    const { intents } = make()
    const old = intents.begin('u1', 'v1')
    intents.end('u1', 'v1', old)
    const now = intents.begin('u1', 'v1')
    intents.end('u1', 'v1', old)
    expect(intents.open('u1', 'v1')).toEqual(now)
  })

  for (const [what, after, same] of [
    ['just before 23 hours', longest - 1, true],
    ['after 23 hours', longest, false],
    ['when the clock was set back a little', -60_000, true],
    ['when the clock was set back a day', -24 * 3_600_000, false],
  ] as const) {
    test(`${same ? 'has the same key' : 'has another key'} ${what}`, () => {
      const { intents, clock } = make()
      const { key } = intents.begin('u1', 'v1')
      clock.now += after
      expect(intents.begin('u1', 'v1').key === key).toBe(same)
    })
  }

  test('that another tab has ended goes on with its key where no answer was heard', () => {
    const { intents, clock, again } = make()
    const intent = intents.begin('u1', 'v1')
    again().end('u1', 'v1', intent)
    expect(intents.recent('u1', 'v1', intent)).toEqual(intent)
    expect(intents.begin('u1', 'v1', intent)).toEqual(intent)
    expect(again().open('u1', 'v1')).toEqual(intent)
    // What the other tab wants since then is its own.
    again().end('u1', 'v1', intent)
    const newer = again().begin('u1', 'v1')
    expect(intents.begin('u1', 'v1', intent)).toEqual(intent)
    expect(again().open('u1', 'v1')).toEqual(newer)
    clock.now += longest
    expect(intents.begin('u1', 'v1', intent).key).not.toBe(intent.key)
  })

  test('lasts less than the day for which the server knows its key', () => {
    expect(longest).toBe(23 * 3_600_000)
  })

  test('lives as long as the page where the shelf takes nothing or throws at all', () => {
    const full: Shelf = {
      getItem: () => null,
      setItem: () => {
        throw new Error('full')
      },
      removeItem: () => undefined,
    }
    const refusing: Shelf = {
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
    for (const shelf of [full, refusing]) {
      const { intents } = make(shelf)
      const intent = intents.begin('u1', 'v1')
      expect(intents.begin('u1', 'v1')).toEqual(intent)
      intents.end('u1', 'v1', intent)
      expect(intents.open('u1', 'v1')).toBeNull()
    }
  })

  for (const written of ['', '{', 'null', '7', '{"key":1,"at":2}', '{"key":"k"}', '[]']) {
    test(`does not fail over ${written || 'nothing'} on the shelf`, () => {
      const { shelf, intents } = make()
      const { key } = intents.begin('u1', 'v1')
      for (const place of (shelf as ReturnType<typeof memory>).places())
        shelf.setItem(place, written)
      expect(intents.open('u1', 'v1')).toBeNull()
      expect(intents.begin('u1', 'v1').key).not.toBe(key)
    })
  }

  test('has a key that nobody guesses, unless one is given', () => {
    const intents = makeIntents({ shelf: memory() })
    const keys = Array.from({ length: 50 }, (_, i) => intents.begin('u', `v${i}`).key)
    expect(new Set(keys).size).toBe(50)
    for (const key of keys) expect(key).toMatch(/^[0-9a-f]{32}$/)
  })
})

test.describe('the answer to a try to buy', () => {
  const order = { id: 'o1' }
  for (const [what, answer, verdict] of [
    ['an order', { order, refusals: [] }, { kind: 'ordered', orderId: 'o1' }],
    [
      'ALREADY_ORDERED with the order',
      { order, refusals: ['ALREADY_ORDERED'] },
      { kind: 'had', orderId: 'o1' },
    ],
    [
      'ALREADY_ORDERED without it',
      { order: null, refusals: ['ALREADY_ORDERED'] },
      { kind: 'had', orderId: null },
    ],
    [
      'OUT_OF_STOCK',
      { order: null, refusals: ['OUT_OF_STOCK'] },
      { kind: 'refused', code: 'OUT_OF_STOCK' },
    ],
    [
      'a request that is wrong',
      { failure: 'BAD_USER_INPUT' },
      { kind: 'refused', code: 'BAD_USER_INPUT' },
    ],
    ['what is not allowed', { failure: 'FORBIDDEN' }, { kind: 'refused', code: 'FORBIDDEN' }],
    ['UNAVAILABLE', { failure: 'UNAVAILABLE' }, { kind: 'unknown', code: 'UNAVAILABLE' }],
    ['RATE_LIMITED', { failure: 'RATE_LIMITED' }, { kind: 'unknown', code: 'RATE_LIMITED' }],
    [
      'UNAUTHENTICATED',
      { failure: 'UNAUTHENTICATED' },
      { kind: 'unknown', code: 'UNAUTHENTICATED' },
    ],
    ['a network that fails', { failure: null }, { kind: 'unknown', code: null }],
    [
      'a failure beside an order',
      { order, refusals: [], failure: null },
      { kind: 'unknown', code: null },
    ],
    ['nothing', {}, { kind: 'unknown', code: null }],
    ['neither order nor reason', { order: null, refusals: [] }, { kind: 'unknown', code: null }],
  ] as const) {
    test(`is judged: ${what} is ${verdict.kind}`, () => {
      expect(judge(answer)).toEqual(verdict)
    })
  }
})

test.describe('what is told of an order', () => {
  // Where each state may go on to, as the API says it; a state that was overtaken is skipped.
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
      // From one end to another there is no way, so neither is taken for the newer.
      if (!goesOn && !reaches(after, known) && !(isFinal(known) && isFinal(after))) continue
      test(`${known}, then ${after}: ${goesOn ? 'goes on' : 'stays'}`, () => {
        const before = at(known)
        const update = at(after)
        expect(newest(before, update)).toBe(goesOn ? update : before)
      })
    }
  }

  test('never leads back, for no two states', () => {
    for (const known of all) {
      for (const after of all) {
        const kept = newest(at(known), at(after))!
        expect(reaches(kept.status, known), `${known}, ${after}`).toBe(false)
        if (next[known].length === 0) expect(kept.status, `${known}, ${after}`).toBe(known)
      }
    }
  })

  test('is not followed where nothing follows, or only a dispute can', () => {
    for (const status of all)
      expect(isFinal(status), status).toBe(status === 'USED' || next[status].length === 0)
  })

  test('keeps a dispute that an older update does not have', () => {
    const disputed = { ...at('USED'), redemptionDisputedAt: '2026-11-27T12:00:00Z' }
    expect(newest(disputed, at('USED'))).toBe(disputed)
    expect(newest(at('USED'), disputed)).toBe(disputed)
    const refunding = { ...disputed, status: 'REFUNDING' as OrderStatus }
    expect(newest(disputed, refunding)).toBe(refunding)
  })

  test('is the first that is told, and that of another order', () => {
    const order = at('USED')
    const other = { ...at('QUEUED'), id: 'o2' }
    expect(newest(null, order)).toBe(order)
    expect(newest(order, null)).toBe(order)
    expect(newest(order, undefined)).toBe(order)
    expect(newest(null, null)).toBeNull()
    expect(newest(order, other)).toBe(other)
  })
})

test.describe('the plan around a shop', () => {
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
          // East is to the right, and north above.
          if (Math.abs(dx) > 0.01) expect(Math.sign(x), `${angle}°`).toBe(Math.sign(dx))
          if (Math.abs(dy) > 0.01) expect(Math.sign(y), `${angle}°`).toBe(-Math.sign(dy))
        }
      })
    }
  }

  const picture = { width: 360, height: 240, margin: 20 }
  for (const [name, at] of [
    ['nobody around', []],
    ['somebody next door', [{ x: 3, y: -2 }]],
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
    test(`has all in the picture: ${name}`, () => {
      const { scale, bar } = fit(at, picture)
      expect(scale).toBeGreaterThan(0)
      for (const { x, y } of at) {
        expect(Math.abs(x) * scale).toBeLessThanOrEqual(picture.width / 2 - picture.margin + 1e-9)
        expect(Math.abs(y) * scale).toBeLessThanOrEqual(picture.height / 2 - picture.margin + 1e-9)
      }
      // Nearer than 120 m it does not go.
      expect(120 * scale).toBeLessThanOrEqual(picture.height / 2 - picture.margin + 1e-9)
      expect(bar * scale).toBeLessThanOrEqual(picture.width / 3)
      expect([20, 50, 100, 200, 500, 1000]).toContain(bar)
    })
  }

  test('moves numbers that lie on each other apart, and only the first', () => {
    const centre = { x: 0, y: 0 }
    const at = [
      { x: 0, y: 0 },
      { x: 50, y: 50 },
      { x: 50, y: 50 },
      { x: 52, y: 50 },
    ]
    const moved = apart(at, centre, 3, 20)
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
  const note = (n: number): Told => ({
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
  const opened = paged(nothing, page('c3', [3, 2], true))

  test('follows from the moment of its first page, and from there only', () => {
    expect(opened.start).toBe('c3')
    expect(paged(opened, page('c9', [3, 2])).start).toBe('c3')
    const early = begun(nothing, 'c1')
    expect(early.start).toBe('c1')
    expect(paged(early, page('c3', [3])).start).toBe('c3')
  })

  test('is ready when all that was missed has come, and not before', () => {
    expect(opened.ready).toBe(false)
    const ready = told(opened, { kind: 'ready' })
    expect(ready.ready).toBe(true)
    expect(begun(ready, 'c3').ready).toBe(true)
    expect(begun(ready, 'c4').ready).toBe(false)
  })

  test('has new notes wait, newest first, each once', () => {
    const feed = [added(4), added(5), added(4), added(5)].reduce(told, opened)
    expect(waiting(feed)).toEqual(['n5', 'n4'])
  })

  test('has no note wait that a page has, or one behind it', () => {
    expect(waiting(told(opened, added(3)))).toEqual([])
    expect(waiting(told(opened, added(1)))).toEqual([])
    // With no page behind it, what it lacks is new.
    const whole = paged(nothing, page('c3', [3, 2]))
    expect(waiting(told(whole, added(1)))).toEqual(['n1'])
    expect(waiting(paged(told(opened, added(4)), page('c4', [4, 3], true)))).toEqual([])
  })

  test('puts what waited on top, and does not show it twice', () => {
    const two = [added(4), added(5)].reduce(told, opened)
    const top = shown(two, waiting(two))
    expect(waiting(top)).toEqual([])
    expect(top.tops).toEqual([['n5', 'n4']])
    expect([...hidden(top)]).toEqual(['n5', 'n4'])
    expect(waiting(told(top, added(5)))).toEqual([])
    const more = told(top, added(6))
    expect(shown(more, ['n6']).tops).toEqual([['n6'], ['n5', 'n4']])
    // The same page again, as a cache gives it, changes nothing.
    expect(paged(top, page('c3', [3, 2], true)).tops).toEqual(top.tops)
    expect(paged(top, page('c5', [5, 4], true)).tops).toEqual([])
  })

  test('leaves alone what came while others were put on top', () => {
    const feed = [added(4), added(5)].reduce(told, opened)
    expect(waiting(shown(feed, ['n4']))).toEqual(['n5'])
  })

  test('offers nothing that was removed, in whatever order that is told', () => {
    expect(waiting([added(4), removed(4)].reduce(told, opened))).toEqual([])
    expect(waiting([removed(4), added(4)].reduce(told, opened))).toEqual([])
    expect([...hidden(told(opened, removed(3)))]).toEqual(['n3'])
    const late = told(told(opened, added(4)), removed(4))
    expect(shown(late, ['n4']).tops).toEqual([])
  })

  test('offers and has on top nothing of an author who is not followed any more', () => {
    const top = shown([added(4), added(5), added(6)].reduce(told, opened), ['n4', 'n5'])
    const feed = unfollowed([added(7), added(8)].reduce(told, top), 'even')
    expect(waiting(feed)).toEqual(['n7'])
    expect(feed.tops).toEqual([['n5']])
    expect([...hidden(feed)]).toEqual(['n5'])
    // Followed again, what that author writes is told, and what a page has is not hidden.
    expect(waiting(told(feed, added(10)))).toEqual(['n10', 'n7'])
    const none = unfollowed(feed, 'odd')
    expect([none.waiting, none.tops, none.topped]).toEqual([[], [], []])
  })

  test('keeps what was put on top while an older page was on its way', () => {
    const resynced = told(opened, { kind: 'resync' })
    const top = shown(told(resynced, added(6)), ['n6'])
    const read = paged(top, page('c5', [5, 4], true))
    expect(read.tops).toEqual([['n6']])
    expect(waiting(read)).toEqual([])
  })

  test('is read anew after a resync and after an end of the updates', () => {
    const before = shown([added(4), added(5)].reduce(told, opened), ['n4'])
    const resynced = told(before, { kind: 'resync' })
    expect(resynced.round).toBe(before.round + 1)
    expect([resynced.waiting, resynced.tops]).toEqual([[], []])
    expect(resynced.start).toBe('c3')
    const ended = broken(told(before, removed(2)))
    expect(ended.round).toBe(before.round + 1)
    expect(ended.start).toBeNull()
    expect(ended.page).toBeNull()
    expect(ended.removed.has('n2')).toBe(true)
  })

  // Notes come and go at a server, pages and updates arrive late, updates come again, and
  // at each step the feed has each note that it was told of, once, newest first.
  for (let walk = 0; walk < 20; walk++) {
    test(`misses nothing and shows nothing twice on a random walk ${walk}`, () => {
      const seed = (Date.now() + walk * 7919) >>> 0
      console.log(`walk ${walk}: seed ${seed}`)
      wander(seed, 600)
    })
  }
})

test.describe('what is written into fields', () => {
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
    // Decimal signs of other regions and keypads.
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
    // Groups.
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
    // What nobody sees.
    ['\u200f12,50\u200e', 1250],
    ['12\u200b.5', 1250],
    ['12.50元', 1250],
    // What is no amount, and must not become another one.
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
    test(`${quoted} is ${minor === null ? 'no amount' : `${minor} fen`}`, () => {
      expect(minorOf(written)).toBe(minor)
    })
  }

  for (const written of ['1.200', '12.000', '１.２００', '999。999', '١.٢٠٠']) {
    test(`${written} can be two amounts, and is taken for neither`, () => {
      expect(amountOf(written)).toBe('ambiguous')
      expect(minorOf(written)).toBeNull()
    })
  }

  test('an amount is written as it is read', () => {
    for (const minor of [0, 1, 10, 99, 100, 1250, 3900, 99_999_999])
      expect(minorOf(yuanOf(minor))).toBe(minor)
    expect([yuanOf(null), yuanOf(1250), yuanOf(3900)]).toEqual(['', '12.50', '39'])
  })

  test('a moment is written as it is read, to the minute', () => {
    for (const moment of ['2026-01-01T00:00:00.000Z', '2026-07-31T23:59:00.000Z'])
      expect(momentOf(localOf(moment))).toBe(moment)
    expect(momentOf('')).toBeNull()
  })

  test('spaces are no text', () => {
    expect([textOf('  '), textOf(' a b ')]).toEqual([null, 'a b'])
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
    test(`${JSON.stringify(written)} is ${whole === null ? 'no whole number' : whole}`, () => {
      expect(wholeOf(written)).toBe(whole)
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
    test(`${JSON.stringify(written)} is ${degrees === null ? 'no angle' : `${degrees}°`}`, () => {
      expect(degreesOf(written)).toBe(degrees)
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
      expect(digitsOf(written)).toBe(digits)
    })
  }
})

test.describe('the way back from the sign-in', () => {
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
    test(`leads to ${page}, as it was`, () => {
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
    test(`does not follow ${JSON.stringify(to)}`, () => {
      expect(returnPath(to, site)).toBe('/')
    })
  }
})

test('words from right to left are set apart from the sentence around them, others are not', () => {
  expect(isolate('مقهى')).toBe('\u2068مقهى\u2069')
  expect(isolate('קפה 1')).toBe('\u2068קפה 1\u2069')
  expect(isolate(isolate('مقهى'))).toBe(isolate('مقهى'))
  expect(['荷塘小面', 'Café (2)!', ''].map(isolate)).toEqual(['荷塘小面', 'Café (2)!', ''])
})

test('the last days end with the day that is given, in any month', () => {
  expect(lastDays(30, '2026-03-01')).toEqual({ from: '2026-01-31', to: '2026-03-01' })
  expect(lastDays(1, '2024-02-29')).toEqual({ from: '2024-02-29', to: '2024-02-29' })
})

test.describe('in both languages', () => {
  // These modules read the browser's settings when they are loaded.
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
    [0, '10 m', '10米'],
    [38, '40 m', '40米'],
    [994, '990 m', '990米'],
    [995, '1 km', '1公里'],
    [1234, '1.2 km', '1.2公里'],
    [12_345, '12.3 km', '12.3公里'],
  ] as const) {
    test(`distance: ${metres} m is ${en}`, async () => {
      expect((await formats('en')).distance(metres)).toBe(en)
      expect((await formats('zh')).distance(metres)).toBe(zh)
    })
  }

  const now = Date.parse('2026-05-20T12:00:00Z')
  for (const [seconds, en, zh] of [
    [-30, 'now', '现在'],
    [0, 'now', '现在'],
    [59, 'now', '现在'],
    [61, '1 minute ago', '1分钟前'],
    [3599, '59 minutes ago', '59分钟前'],
    [3601, '1 hour ago', '1小时前'],
    [86_399, '23 hours ago', '23小时前'],
    [86_401, 'yesterday', '昨天'],
    [3 * 86_400 + 1, '3 days ago', '3天前'],
  ] as const) {
    test(`ago: ${seconds} s is ${en}`, async () => {
      const moment = new Date(now - seconds * 1000).toISOString()
      expect((await formats('en')).ago(moment, now)).toBe(en)
      expect((await formats('zh')).ago(moment, now)).toBe(zh)
    })
  }

  // A day is named by the midnights between, in the reader's zone. Clocks went forward in Berlin
  // on 29 March 2026, and back on 25 October.
  for (const [zone, of, read, en, zh] of [
    ['Asia/Shanghai', '2026-05-18T10:00', '2026-05-20T09:00', '2 days ago', '前天'],
    ['Asia/Shanghai', '2026-05-18T23:30', '2026-05-20T00:30', '2 days ago', '前天'],
    ['Asia/Shanghai', '2026-05-19T00:30', '2026-05-20T23:30', 'yesterday', '昨天'],
    ['Asia/Shanghai', '2026-05-19T23:59', '2026-05-20T00:01', '2 minutes ago', '2分钟前'],
    ['Asia/Shanghai', '2026-05-19T18:00', '2026-05-20T09:00', '15 hours ago', '15小时前'],
    ['Asia/Shanghai', '2026-05-13T23:59', '2026-05-20T00:01', '7 days ago', '7天前'],
    ['America/Los_Angeles', '2026-05-18T23:30', '2026-05-20T00:30', '2 days ago', '前天'],
    ['Europe/Berlin', '2026-03-28T12:00', '2026-03-29T13:30', 'yesterday', '昨天'],
    ['Europe/Berlin', '2026-03-28T23:30', '2026-03-30T00:30', '2 days ago', '前天'],
    ['Europe/Berlin', '2026-10-25T00:10', '2026-10-25T23:50', '24 hours ago', '24小时前'],
    ['Europe/Berlin', '2026-10-24T23:50', '2026-10-26T00:10', '2 days ago', '前天'],
  ] as const) {
    test(`ago: what was at ${of} is ${en} at ${read} in ${zone}`, async () => {
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

  test('characters are counted as the API does, and cut and shown whole', async () => {
    const { cut, graphemes, initialOf, lengthOf, simpleGraphemes } =
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
      expect(lengthOf(text), JSON.stringify(text)).toBe(n)
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

  test('a date is the same day wherever it is read, and so is a moment of long ago', async () => {
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
    test(`a sale ${what} is ${phase}, whatever was told`, async () => {
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

test('a session that the server does not know ends, and none that another tab has begun since', async () => {
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
  expect(localStorage.places()).toEqual([])
  Reflect.deleteProperty(globalThis, 'window')
})

interface Point {
  x: number
  y: number
}

/** What a browser keeps, without one. */
function memory(): Shelf & { places: () => string[] } {
  const items = new Map<string, string>()
  return {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => void items.set(key, value),
    removeItem: (key) => void items.delete(key),
    places: () => [...items.keys()],
  }
}

const rad = (degrees: number) => (degrees * Math.PI) / 180

/** Metres on a globe. */
function haversine(a: { lat: number; lng: number }, b: { lat: number; lng: number }): number {
  const h =
    Math.sin(rad(b.lat - a.lat) / 2) ** 2 +
    Math.cos(rad(a.lat)) * Math.cos(rad(b.lat)) * Math.sin(rad(b.lng - a.lng) / 2) ** 2
  return 2 * 6_371_008.8 * Math.asin(Math.sqrt(h))
}

/** mulberry32: numbers from 0 to 1 that a seed gives again. */
function random(seed: number): () => number {
  let a = seed
  return () => {
    a = (a + 0x6d2b79f5) | 0
    let t = Math.imul(a ^ (a >>> 15), 1 | a)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Fails with why. The runner keeps a step of each `expect`, which are too many here. */
function must(holds: boolean, why: string): void {
  if (!holds) throw new Error(why)
}

/** A server of notes and one reader, who do something at random so often. */
function wander(seed: number, steps: number): void {
  const chance = random(seed)
  const below = (n: number) => Math.floor(chance() * n)
  const size = 4 // notes of a first page

  // The server: what happened, in order. The cursor of a moment is how much that was.
  const log: ({ kind: 'added'; note: Told } | { kind: 'removed'; noteId: string })[] = []
  const alive: Told[] = [] // newest first
  let count = 0
  const read = (): FirstPage => ({
    liveCursor: String(log.length),
    notes: alive.slice(0, size),
    more: alive.length > size,
  })

  // The reader.
  let feed = nothing
  let flying: FirstPage | null = null // a page that was read and has not arrived
  let pressed: readonly string[] | null = null // notes that are put on top when they arrive
  let heard = 0 // as much of the log was told since `from`
  let from: string | null = null // where the updates begin
  const listen = () => {
    if (feed.start === from) return
    from = feed.start
    heard = Number(from ?? 0)
  }

  const acts: Record<string, () => void> = {
    publish: () => {
      const createdAt = new Date(++count * 1000).toISOString()
      const note = { id: `n${count}`, createdAt, authorId: 'somebody' }
      alive.unshift(note)
      log.push({ kind: 'added', note })
    },
    remove: () => {
      const [gone] = alive.splice(below(alive.length), 1)
      if (gone) log.push({ kind: 'removed', noteId: gone.id })
    },
    tell: () => {
      if (from === null || heard >= log.length) return
      feed = told(feed, log[heard++]!)
      if (heard === log.length) feed = told(feed, { kind: 'ready' })
    },
    repeat: () => {
      if (from !== null) heard = Number(from)
    },
    read: () => (flying ??= read()),
    arrive: () => {
      if (flying !== null) feed = paged(feed, flying)
      flying = null
    },
    press: () => (pressed ??= feed.waiting.length > 0 ? feed.waiting.map(({ id }) => id) : null),
    top: () => {
      if (pressed !== null) feed = shown(feed, pressed)
      pressed = null
    },
    resync: () => {
      if (from === null || chance() < 0.8) return
      feed = told(feed, { kind: 'resync' })
      heard = log.length
      pressed = null
      flying = read()
    },
    breaks: () => {
      if (chance() < 0.8) return
      feed = broken(feed)
      pressed = null
      flying = read()
    },
  }
  const often = ['publish', 'publish', 'publish', 'tell', 'tell', 'tell', 'tell', 'arrive', 'top']
  const names = [...Object.keys(acts), ...often]
  const done: string[] = []
  const check = () => {
    if (feed.page === null || (flying !== null && feed.round !== round)) return
    round = feed.round
    const why = `seed ${seed}, after ${done.slice(-12).join(' ')}`
    const away = hidden(feed)
    const tops = feed.tops.flat().filter((id) => !feed.removed.has(id))
    const first = feed.page.notes
    const last = first.at(-1)
    const behind = feed.page.more && last ? alive.filter((n) => n.createdAt < last.createdAt) : []
    const pages = [...first, ...behind].map(({ id }) => id).filter((id) => !away.has(id))
    const waits = feed.waiting.map(({ id }) => id)
    const list = [...waits, ...tops, ...pages]
    const unique = new Set(list)
    must(unique.size === list.length, `twice: ${list.join(' ')}; ${why}`)
    const heardOf = new Set(
      log.slice(0, heard).flatMap((e) => (e.kind === 'added' ? [e.note.id] : [])),
    )
    const missed = alive.filter(({ id }) => heardOf.has(id) && !unique.has(id))
    must(missed.length === 0, `missed ${JSON.stringify(missed)}; ${why}`)
    const living = new Set(alive.map(({ id }) => id))
    for (const ids of [waits, [...tops, ...pages]]) {
      // One that is gone may wait until that is told.
      const order = ids.filter((id) => living.has(id)).map((id) => Number(id.slice(1)))
      must(
        order.every((n, i) => i === 0 || n < order[i - 1]!),
        `not newest first: ${order.join(' ')}; ${why}`,
      )
    }
    for (const id of feed.removed) must(!unique.has(id), `removed, and there: ${id}; ${why}`)
  }
  let round = 0
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

  // When all has arrived, the reader has what the server has, and nothing else.
  act('arrive')
  if (feed.page === null) {
    act('read')
    act('arrive')
  }
  act('top')
  while (heard < log.length) act('tell')
  act('press')
  act('top')
  const away = hidden(feed)
  const last = feed.page!.notes.at(-1)
  const behind = feed.page!.more && last ? alive.filter((n) => n.createdAt < last.createdAt) : []
  const list = [
    ...feed.tops.flat().filter((id) => !feed.removed.has(id)),
    ...[...feed.page!.notes, ...behind].map(({ id }) => id).filter((id) => !away.has(id)),
  ]
  expect(list, `seed ${seed}`).toEqual(alive.map(({ id }) => id))
}
