const longest = 1600 // pixels: the server keeps no more a side
const quality = 0.86
const glance = 240 // pixels of the preview
const most = 10_000_000 // bytes that the server takes

/** A picture as it is sent, and a small one to show until it is there. */
export interface Prepared {
  readonly file: Blob
  readonly preview: string | null
}

/**
 * Makes a picture small enough to send: phones take some of 3 to 12 MB. What is transparent stays
 * transparent. What the browser cannot read, or cannot make smaller, stays as it is.
 */
export async function prepare(file: Blob): Promise<Prepared> {
  try {
    const bitmap = await createImageBitmap(file)
    try {
      const canvas = drawn(bitmap, longest)
      // A JPEG has no transparency: in one, clear pixels would become black.
      const type = !(await isJpeg(file)) && isSeeThrough(canvas) ? 'image/png' : 'image/jpeg'
      const preview = drawn(bitmap, glance).toDataURL(type, 0.7)
      let small = await encoded(canvas, type)
      // A PNG of a photograph may be larger than the server takes.
      for (let side = longest / 2; small !== null && small.size > most && side > 100; side /= 2) {
        // oxlint-disable-next-line no-await-in-loop -- each is made because the last was too large
        small = await encoded(drawn(bitmap, side), type)
      }
      return { file: small !== null && small.size < file.size ? small : file, preview }
    } finally {
      bitmap.close()
    }
  } catch {
    return { file, preview: null }
  }
}

function encoded(canvas: HTMLCanvasElement, type: string): Promise<Blob | null> {
  return new Promise((resolve) => {
    canvas.toBlob(resolve, type, quality)
  })
}

/** Whether it is a JPEG by its first bytes: the type of a file follows its name, which may lie. */
async function isJpeg(file: Blob): Promise<boolean> {
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer())
  return first === 0xff && second === 0xd8
}

/** Whether some pixel lets through what is behind it. */
function isSeeThrough(canvas: HTMLCanvasElement): boolean {
  const { data } = contextOf(canvas).getImageData(0, 0, canvas.width, canvas.height)
  for (let i = 3; i < data.length; i += 4) if (data[i] !== 255) return true
  return false
}

function drawn(bitmap: ImageBitmap, side: number): HTMLCanvasElement {
  const scale = Math.min(1, side / Math.max(bitmap.width, bitmap.height))
  const canvas = document.createElement('canvas')
  canvas.width = Math.max(1, Math.round(bitmap.width * scale))
  canvas.height = Math.max(1, Math.round(bitmap.height * scale))
  contextOf(canvas).drawImage(bitmap, 0, 0, canvas.width, canvas.height)
  return canvas
}

function contextOf(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  const context = canvas.getContext('2d')
  if (context === null) throw new Error('no canvas')
  return context
}
