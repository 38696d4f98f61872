const longest = 1600 // pixels: the server keeps no more a side
const quality = 0.86
const glance = 240 // pixels of the preview

/** A picture as it is sent, and a small one to show until it is there. */
export interface Prepared {
  readonly file: Blob
  readonly preview: string | null
}

/**
 * Makes a picture small enough to send: phones take some of 3 to 12 MB. What the browser cannot
 * read, or cannot make smaller, stays as it is.
 */
export async function prepare(file: Blob): Promise<Prepared> {
  try {
    const bitmap = await createImageBitmap(file)
    try {
      const preview = drawn(bitmap, glance).toDataURL('image/jpeg', 0.7)
      const canvas = drawn(bitmap, longest)
      const small = await new Promise<Blob | null>((resolve) => {
        canvas.toBlob(resolve, 'image/jpeg', quality)
      })
      return { file: small !== null && small.size < file.size ? small : file, preview }
    } finally {
      bitmap.close()
    }
  } catch {
    return { file, preview: null }
  }
}

function drawn(bitmap: ImageBitmap, most: number): HTMLCanvasElement {
  const scale = Math.min(1, most / Math.max(bitmap.width, bitmap.height))
  const canvas = document.createElement('canvas')
  canvas.width = Math.max(1, Math.round(bitmap.width * scale))
  canvas.height = Math.max(1, Math.round(bitmap.height * scale))
  const context = canvas.getContext('2d')
  if (context === null) throw new Error('no canvas')
  context.fillStyle = '#fff' // a JPEG has no transparency
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height)
  return canvas
}
