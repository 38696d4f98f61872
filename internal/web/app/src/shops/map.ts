// A schematic map around a shop, without map tiles.

export interface Coordinates {
  readonly lat: number
  readonly lng: number
}

/** Returns the offset from a centre: metres to the east and to the south. */
export function offset(
  of: Coordinates,
  from: Coordinates,
): { readonly x: number; readonly y: number } {
  return {
    x: (of.lng - from.lng) * Math.cos((from.lat * Math.PI) / 180) * 111_320,
    y: (from.lat - of.lat) * 110_540,
  }
}

export interface MapScale {
  /** Pixels per metre. */
  readonly scale: number
  /** Length of the scale bar, in metres. */
  readonly bar: number
}

const minRadius = 120 // metres from the centre to the edge, at least
const lengths = [20, 50, 100, 200, 500, 1000]

/** Fits the points into a picture around its centre. */
export function fit(
  points: readonly { readonly x: number; readonly y: number }[],
  { width, height, margin }: { width: number; height: number; margin: number },
): MapScale {
  const extent = (axis: 'x' | 'y') =>
    Math.max(minRadius, ...points.map((point) => Math.abs(point[axis])))
  const scale = Math.min((width / 2 - margin) / extent('x'), (height / 2 - margin) / extent('y'))
  const bar = Math.max(lengths[0]!, ...lengths.filter((length) => length * scale <= width / 3))
  return { scale, bar }
}

const iterations = 12

/**
 * Moves the first points so that they are at least `minGap` from each other and from the centre.
 */
export function spreadApart(
  points: readonly { readonly x: number; readonly y: number }[],
  centre: { readonly x: number; readonly y: number },
  first: number,
  minGap: number,
): { x: number; y: number }[] {
  const moved = points.map(({ x, y }) => ({ x, y }))
  const near = moved.slice(0, first)
  for (let round = 0; round < iterations; round++) {
    for (const [i, a] of near.entries()) {
      const off = Math.hypot(a.x - centre.x, a.y - centre.y)
      if (off < minGap) {
        const by = off === 0 ? 0 : minGap / off
        a.x = off === 0 ? centre.x + minGap : centre.x + (a.x - centre.x) * by
        a.y = centre.y + (a.y - centre.y) * by
      }
      for (const b of near.slice(i + 1)) {
        const [dx, dy] = [b.x - a.x, b.y - a.y]
        const distance = Math.hypot(dx, dy)
        if (distance >= minGap) continue
        // Separate identical points horizontally.
        const [east, south] = distance === 0 ? [1, 0] : [dx / distance, dy / distance]
        const by = (minGap - distance) / 2
        a.x -= east * by
        a.y -= south * by
        b.x += east * by
        b.y += south * by
      }
    }
  }
  return moved
}
