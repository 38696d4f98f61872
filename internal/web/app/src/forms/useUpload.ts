import { useEffect, useRef, useState } from 'react'

import { useRequestErrorText, useUserErrorText } from '@/api/errors'
import { upload as send, type UploadedImage } from '@/api/upload'
import { currentSession } from '@/session/session'
import { toast } from '@/ui/toast'

import { prepareImage } from './prepareImage'

/**
 * Uploads images one at a time and shows errors in a toast: `[upload, progress]`. Progress is 0 to
 * 1, or null when idle. Unmounting aborts the upload.
 */
export function useUpload(): [(file: File) => Promise<UploadedImage | null>, number | null] {
  const requestErrorText = useRequestErrorText()
  const userErrorText = useUserErrorText()
  const [progress, setProgress] = useState<number | null>(null)
  const abort = useRef<AbortController>(undefined)
  useEffect(() => {
    const controller = new AbortController()
    abort.current = controller
    return () => controller.abort()
  }, [])

  const upload = async (file: File) => {
    const session = currentSession()
    const signal = abort.current?.signal
    if (session === null || !signal || signal.aborted) return null
    setProgress(0)
    const { file: small } = await prepareImage(file)
    if (signal.aborted) return null
    const result = await send(small, session, { signal, onProgress: setProgress })
    if (signal.aborted) return null
    setProgress(null)
    if ('image' in result) return result.image
    toast('userError' in result ? userErrorText(result.userError) : requestErrorText(result.error))
    return null
  }
  return [upload, progress]
}
