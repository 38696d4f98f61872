// A plan of what is around a shop, without the tiles of anybody.

export interface Spot {
  readonly lat: number
  readonly lng: number
}

/** Where something lies from a centre: metres to the east and to the south. */
export function offset(of: Spot, from: Spot): { readonly x: number; readonly y: number } {
  return {
    x: (of.lng - from.lng) * Math.cos((from.lat * Math.PI) / 180) * 111_320,
    y: (from.lat - of.lat) * 110_540,
  }
}

export interface Plan {
  /** Points of the picture for a metre. */
  readonly scale: number
  /** The longest round length that the bar can show, in metres. */
  readonly bar: number
}

const nearest = 120 // metres from the centre to the edge
const lengths = [20, 50, 100, 200, 500, 1000]

/** Fits the spots into a picture around its centre. */
export function fit(
  spots: readonly { readonly x: number; readonly y: number }[],
  { width, height, margin }: { width: number; height: number; margin: number },
): Plan {
  const far = (axis: 'x' | 'y') => Math.max(nearest, ...spots.map((spot) => Math.abs(spot[axis])))
  const scale = Math.min((width / 2 - margin) / far('x'), (height / 2 - margin) / far('y'))
  const bar = Math.max(lengths[0]!, ...lengths.filter((length) => length * scale <= width / 3))
  return { scale, bar }
}

const rounds = 12

/**
 * Moves the first spots of a picture a little, so that they lie `least` apart, and from its centre,
 * and all can be read.
 */
export function apart(
  spots: readonly { readonly x: number; readonly y: number }[],
  centre: { readonly x: number; readonly y: number },
  first: number,
  least: number,
): { x: number; y: number }[] {
  const moved = spots.map(({ x, y }) => ({ x, y }))
  const near = moved.slice(0, first)
  for (let round = 0; round < rounds; round++) {
    for (const [i, a] of near.entries()) {
      const off = Math.hypot(a.x - centre.x, a.y - centre.y)
      if (off < least) {
        const by = off === 0 ? 0 : least / off
        a.x = off === 0 ? centre.x + least : centre.x + (a.x - centre.x) * by
        a.y = centre.y + (a.y - centre.y) * by
      }
      for (const b of near.slice(i + 1)) {
        const [dx, dy] = [b.x - a.x, b.y - a.y]
        const far = Math.hypot(dx, dy)
        if (far >= least) continue
        // Two on one spot go to the left and to the right.
        const [east, south] = far === 0 ? [1, 0] : [dx / far, dy / far]
        const by = (least - far) / 2
        a.x -= east * by
        a.y -= south * by
        b.x += east * by
        b.y += south * by
      }
    }
  }
  return moved
}
