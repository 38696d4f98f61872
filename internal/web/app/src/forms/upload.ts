import { useState } from 'react'

import { useDo } from '@/api/useDo'

import { UploadPictureDocument } from './upload.gql'

/** A picture that the server took. */
export interface Uploaded {
  readonly url: string
  readonly thumbnailUrl: string
}

const side = 1600 // pixels: more is not kept by the server either

/** Uploads pictures, and says why one was not taken: `[upload, busy]`. */
export function useUpload(): [(file: File) => Promise<Uploaded | null>, boolean] {
  const [send] = useDo(UploadPictureDocument)
  const [under, setUnder] = useState(0)
  const upload = async (file: File) => {
    setUnder((n) => n + 1)
    const done = await send({ file: await shrunk(file) })
    setUnder((n) => n - 1)
    return done.ok ? done.value.image : null
  }
  return [upload, under > 0]
}

/** The picture, no larger than what is kept; as it is if the browser cannot read it. */
async function shrunk(file: File): Promise<Blob> {
  try {
    const picture = await createImageBitmap(file, { imageOrientation: 'from-image' })
    const scale = side / Math.max(picture.width, picture.height)
    if (scale >= 1) return file
    const canvas = document.createElement('canvas')
    canvas.width = Math.round(picture.width * scale)
    canvas.height = Math.round(picture.height * scale)
    const context = canvas.getContext('2d')
    if (!context) return file
    context.fillStyle = '#fff' // what was transparent
    context.fillRect(0, 0, canvas.width, canvas.height)
    context.drawImage(picture, 0, 0, canvas.width, canvas.height)
    picture.close()
    const small = await new Promise<Blob | null>((done) => canvas.toBlob(done, 'image/jpeg', 0.9))
    return small === null ? file : new File([small], 'picture.jpg', { type: small.type })
  } catch {
    return file
  }
}
