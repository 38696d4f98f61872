const maxSide = 1600 // pixels; the server stores no longer side
const quality = 0.86
const previewSide = 240 // pixels
const maxBytes = 10_000_000 // bytes, the server's limit

/** An image ready to upload, with a small preview. */
export interface PreparedImage {
  readonly file: Blob
  readonly preview: string | null
}

/**
 * Shrinks an image before upload: phone photos have 3 to 12 MB. It preserves transparency. If the
 * browser cannot decode or shrink the image, it returns the file unchanged.
 */
export async function prepareImage(file: Blob): Promise<PreparedImage> {
  try {
    const bitmap = await createImageBitmap(file)
    try {
      const canvas = drawScaled(bitmap, maxSide)
      // JPEG has no transparency: clear pixels would become black.
      const type = !(await isJpeg(file)) && isTransparent(canvas) ? 'image/png' : 'image/jpeg'
      const preview = drawScaled(bitmap, previewSide).toDataURL(type, 0.7)
      let small = await encode(canvas, type)
      // A photo as PNG can exceed the server's limit.
      for (
        let side = maxSide / 2;
        small !== null && small.size > maxBytes && side > 100;
        side /= 2
      ) {
        // oxlint-disable-next-line no-await-in-loop -- each is made because the last was too large
        small = await encode(drawScaled(bitmap, side), type)
      }
      return { file: small !== null && small.size < file.size ? small : file, preview }
    } finally {
      bitmap.close()
    }
  } catch {
    return { file, preview: null }
  }
}

function encode(canvas: HTMLCanvasElement, type: string): Promise<Blob | null> {
  return new Promise((resolve) => {
    canvas.toBlob(resolve, type, quality)
  })
}

/**
 * Reports whether a file is a JPEG, by its first bytes. The MIME type only reflects the file name.
 */
async function isJpeg(file: Blob): Promise<boolean> {
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer())
  return first === 0xff && second === 0xd8
}

/** Reports whether any pixel is transparent. */
function isTransparent(canvas: HTMLCanvasElement): boolean {
  const { data } = contextOf(canvas).getImageData(0, 0, canvas.width, canvas.height)
  for (let i = 3; i < data.length; i += 4) if (data[i] !== 255) return true
  return false
}

function drawScaled(bitmap: ImageBitmap, side: number): HTMLCanvasElement {
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
