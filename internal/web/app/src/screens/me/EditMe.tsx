import { ImagePlus } from 'lucide-react'
import { useRef, useState } from 'react'
import { useLocation } from 'wouter'

import type { UserError } from '@/api/errors'
import type { Gender } from '@/api/types.gql'
import { useApiQuery } from '@/api/useApiQuery'
import { useApiMutation } from '@/api/useApiMutation'
import { Form, Row, useFieldErrors } from '@/forms/Form'
import { useUpload } from '@/forms/useUpload'
import { trimToNull } from '@/forms/fieldFormat'
import { texts } from '@/i18n/texts'
import { Avatar } from '@/ui/Avatar'
import { Button } from '@/ui/Button'
import { TextArea, Field, Labelled } from '@/ui/Field'
import { Screen } from '@/ui/Screen'
import { Skeleton } from '@/ui/Skeleton'
import { ErrorState } from '@/ui/State'
import { toast } from '@/ui/toast'

import { MyProfileDocument, UpdateProfileDocument, type MyProfileFragment } from './edit-me.gql'
import css from './EditMe.module.css'
import { Password } from './Password'
import { Sessions } from './Sessions'

const useTexts = texts(
  {
    title: 'Edit profile',
    change: 'Change photo',
    uploading: 'Uploading photo',
    remove: 'Remove photo',
    nickname: 'Nickname',
    nicknameBounds: 'Enter 1 to 30 characters.',
    city: 'City',
    cityBounds: 'Use at most 40 characters.',
    bio: 'About you',
    bioBounds: 'Use at most 200 characters.',
    gender: 'Gender',
    UNSPECIFIED: 'Prefer not to say',
    FEMALE: 'Female',
    MALE: 'Male',
    birthday: 'Birthday',
    birthdayBounds: 'Enter a date from 1900 to today.',
    save: 'Save',
    saved: 'Saved.',
  },
  {
    title: '编辑资料',
    change: '更换头像',
    uploading: '正在上传头像',
    remove: '移除头像',
    nickname: '昵称',
    nicknameBounds: '请输入 1 到 30 个字符。',
    city: '城市',
    cityBounds: '最多 40 个字符。',
    bio: '个人简介',
    bioBounds: '最多 200 个字符。',
    gender: '性别',
    UNSPECIFIED: '不透露',
    FEMALE: '女',
    MALE: '男',
    birthday: '生日',
    birthdayBounds: '请选择 1900 年至今的日期。',
    save: '保存',
    saved: '已保存。',
  },
)

/** Profile, password and sessions of the viewer. */
export function EditMe() {
  const t = useTexts()
  // A refetch must not replace the user's input.
  const [{ data, error }, refetch] = useApiQuery({
    query: MyProfileDocument,
    variables: {},
    requestPolicy: 'network-only',
    refetchOnResume: false,
  })
  return (
    <Screen title={t.title} backTo="/me">
      {data?.me ? (
        <div className={css.forms}>
          <Profile me={data.me} />
          <Password />
          <Sessions />
        </div>
      ) : error ? (
        <ErrorState error={error} onRetry={() => refetch({ requestPolicy: 'network-only' })} />
      ) : (
        <Skeleton shape="text" count={4} />
      )}
    </Screen>
  )
}

const genders: readonly Gender[] = ['UNSPECIFIED', 'FEMALE', 'MALE']

function Profile({ me }: { me: MyProfileFragment }) {
  const t = useTexts()
  const [, navigate] = useLocation()
  const [update, saving] = useApiMutation(UpdateProfileDocument, { toastErrors: false })
  const [upload, progress] = useUpload()
  const uploading = progress !== null
  const file = useRef<HTMLInputElement>(null)
  const [userErrors, setUserErrors] = useState<readonly UserError[]>([])
  const errorAt = useFieldErrors(userErrors)

  const [avatarUrl, setAvatarUrl] = useState(me.avatarUrl)
  const [nickname, setNickname] = useState(me.nickname)
  const [city, setCity] = useState(me.city ?? '')
  const [bio, setBio] = useState(me.bio ?? '')
  const [gender, setGender] = useState<Gender>(me.gender ?? 'UNSPECIFIED')
  const [birthday, setBirthday] = useState(me.birthday ?? '')

  const choose = async (chosen: File | undefined) => {
    if (file.current) file.current.value = ''
    if (!chosen) return
    const image = await upload(chosen)
    if (image) setAvatarUrl(image.url)
  }
  const save = async () => {
    // Send only changed fields.
    const result = await update({
      input: {
        ...(nickname === me.nickname ? {} : { nickname: nickname.trim() }),
        ...(avatarUrl === me.avatarUrl ? {} : { avatarUrl }),
        ...(city === (me.city ?? '') ? {} : { city: trimToNull(city) }),
        ...(bio === (me.bio ?? '') ? {} : { bio: trimToNull(bio) }),
        ...(gender === (me.gender ?? 'UNSPECIFIED') ? {} : { gender }),
        ...(birthday === (me.birthday ?? '') ? {} : { birthday: trimToNull(birthday) }),
      },
    })
    setUserErrors(result.ok ? [] : result.userErrors)
    if (!result.ok) return
    toast(t.saved)
    navigate('/me')
  }

  return (
    <Form
      label={t.title}
      userErrors={userErrors}
      fields={['nickname', 'avatarUrl', 'city', 'bio', 'gender', 'birthday']}
      onSubmit={() => void save()}
    >
      <div className={css.avatar}>
        <Avatar user={{ nickname: nickname || me.nickname, avatarUrl }} size={88} />
        <div className={css.buttons}>
          <input
            ref={file}
            type="file"
            hidden
            accept="image/jpeg,image/png,image/webp"
            aria-label={t.change}
            data-input="avatar"
            onChange={(event) => void choose(event.target.files?.[0])}
          />
          <Button kind="quiet" small busy={uploading} onClick={() => file.current?.click()}>
            {!uploading && <ImagePlus aria-hidden="true" size={18} />} {t.change}
          </Button>
          {avatarUrl !== null && (
            <Button kind="plain" small onClick={() => setAvatarUrl(null)}>
              {t.remove}
            </Button>
          )}
          {uploading && <progress aria-label={t.uploading} max={1} value={progress} />}
          {errorAt('avatarUrl') && <p role="alert">{errorAt('avatarUrl')}</p>}
        </div>
      </div>
      <Field
        label={t.nickname}
        error={errorAt('nickname', t.nicknameBounds)}
        limit={30}
        autoComplete="nickname"
        value={nickname}
        onChange={(event) => setNickname(event.target.value)}
      />
      <TextArea
        label={t.bio}
        error={errorAt('bio', t.bioBounds)}
        limit={200}
        value={bio}
        onChange={(event) => setBio(event.target.value)}
      />
      <Field
        label={t.city}
        error={errorAt('city', t.cityBounds)}
        limit={40}
        autoComplete="address-level2"
        value={city}
        onChange={(event) => setCity(event.target.value)}
      />
      <Row>
        <Labelled label={t.gender} error={errorAt('gender')}>
          {(inputProps) => (
            <select
              {...inputProps}
              value={gender}
              onChange={(event) => setGender(event.target.value as Gender)}
            >
              {genders.map((one) => (
                <option key={one} value={one}>
                  {t[one]}
                </option>
              ))}
            </select>
          )}
        </Labelled>
        <Field
          label={t.birthday}
          error={errorAt('birthday', t.birthdayBounds)}
          type="date"
          autoComplete="bday"
          value={birthday}
          onChange={(event) => setBirthday(event.target.value)}
        />
      </Row>
      <Button type="submit" wide busy={saving || uploading}>
        {t.save}
      </Button>
    </Form>
  )
}
