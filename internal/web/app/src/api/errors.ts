import type { CombinedError } from '@urql/core'

import { texts } from '@/i18n/texts'

import type { ErrorCode } from './types.gql'

/**
 * One entry of `userErrors`. Its message is in English and for developers. Users see the text for
 * its code.
 */
export interface UserError {
  readonly code: ErrorCode
  readonly message: string
  readonly field?: readonly string[] | null
  readonly retryAfterSeconds?: number | null
}

const useUserErrorTexts = texts<Record<ErrorCode, string>>(
  {
    INVALID_PHONE: 'Enter a valid phone number.',
    INVALID_CODE: 'That code is wrong or has expired. Request a new one.',
    INVALID_CREDENTIALS: 'Wrong phone number or password. Try again, or use a code.',
    CODE_THROTTLED: 'A code was just sent. Wait a minute before you request another.',
    NOT_FOUND: 'This is no longer available.',
    INVALID_INPUT: 'Check what you entered and try again.',
    IMAGE_REJECTED: 'We can’t use this photo. Try another JPEG, PNG or WebP.',
    SALE_NOT_STARTED: 'The sale hasn’t started yet. Come back when it does.',
    SALE_ENDED: 'The sale has ended.',
    OUT_OF_STOCK: 'It sold out before your order went through. You weren’t charged.',
    ALREADY_ORDERED: 'You already bought this. Find it in Orders.',
    ORDER_NOT_PAYABLE: 'This order can no longer be paid.',
    INSUFFICIENT_BALANCE: 'Your balance is too low. Choose another payment method.',
    ORDER_NOT_CANCELLABLE: 'This order can no longer be cancelled.',
    ORDER_NOT_REFUNDABLE: 'This order can’t be refunded. Contact the shop for help.',
    ORDER_NOT_REDEEMABLE: 'This order can’t be redeemed: it’s unpaid or already used.',
    ORDER_NOT_DISPUTABLE:
      'You can only report this within 24 hours of use. Contact the shop instead.',
    OWN_SHOP: 'You can’t buy from or rate your own shop.',
    VOUCHER_OFF_SALE: 'This voucher is no longer on sale.',
    VOUCHER_IN_USE: 'Existing orders prevent this change.',
    ORDER_NOT_COMPLETED: 'Your order didn’t go through. You weren’t charged. Try again.',
    CANNOT_FOLLOW_SELF: 'You can’t follow yourself.',
    LIMIT_REACHED: 'You’ve reached the limit for this.',
  },
  {
    INVALID_PHONE: '请输入有效的手机号。',
    INVALID_CODE: '验证码错误或已过期，请重新获取。',
    INVALID_CREDENTIALS: '手机号或密码不正确，请重试或使用验证码登录。',
    CODE_THROTTLED: '验证码刚刚发送过，请 1 分钟后再试。',
    NOT_FOUND: '内容不存在或已被删除。',
    INVALID_INPUT: '请检查填写的内容后重试。',
    IMAGE_REJECTED: '无法使用这张图片，请换一张 JPEG、PNG 或 WebP 图片。',
    SALE_NOT_STARTED: '秒杀还未开始，请稍后再来。',
    SALE_ENDED: '秒杀已结束。',
    OUT_OF_STOCK: '手慢了，已抢光。未扣款。',
    ALREADY_ORDERED: '你已购买过，可在“订单”中查看。',
    ORDER_NOT_PAYABLE: '该订单已无法支付。',
    INSUFFICIENT_BALANCE: '余额不足，请选择其他支付方式。',
    ORDER_NOT_CANCELLABLE: '该订单已无法取消。',
    ORDER_NOT_REFUNDABLE: '该订单无法退款，请联系商家。',
    ORDER_NOT_REDEEMABLE: '该订单无法核销：未支付或已使用。',
    ORDER_NOT_DISPUTABLE: '只能在核销后 24 小时内反馈，请联系商家。',
    OWN_SHOP: '不能购买自己店铺的代金券，也不能给自己的店铺评分。',
    VOUCHER_OFF_SALE: '该代金券已下架。',
    VOUCHER_IN_USE: '已有订单，无法这样修改。',
    ORDER_NOT_COMPLETED: '下单失败，未扣款，请重试。',
    CANNOT_FOLLOW_SELF: '不能关注自己。',
    LIMIT_REACHED: '已达到上限。',
  },
)

const useLimitTexts = texts(
  { retry: (minutes: number) => `You’ve reached the limit. Try again in ${minutes} min.` },
  { retry: (minutes) => `已达到上限，请 ${minutes} 分钟后重试。` },
)

const useRequestErrorTexts = texts(
  {
    offline: 'You’re offline. Check your connection.',
    unreachable: 'Can’t reach Tandian. Try again in a moment.',
    RATE_LIMITED: 'Too many attempts. Wait a moment and try again.',
    UNAVAILABLE: 'It’s very busy right now. Try again in a moment.',
    PAYLOAD_TOO_LARGE: 'This is too large. Use a smaller photo or less text.',
    UNAUTHENTICATED: 'Your session has ended. Sign in again.',
    FORBIDDEN: 'You don’t have permission to do this.',
    other: 'Something went wrong. Try again.',
  },
  {
    offline: '网络已断开，请检查网络连接。',
    unreachable: '无法连接服务器，请稍后重试。',
    RATE_LIMITED: '操作太频繁，请稍后再试。',
    UNAVAILABLE: '系统繁忙，请稍后再试。',
    PAYLOAD_TOO_LARGE: '内容过大，请换一张小一些的图片或缩短文字。',
    UNAUTHENTICATED: '登录已过期，请重新登录。',
    FORBIDDEN: '你没有权限执行此操作。',
    other: '出了点问题，请重试。',
  },
)

/** Returns a function that translates a user error. */
export function useUserErrorText(): (userError: UserError) => string {
  const t = useUserErrorTexts()
  const limits = useLimitTexts()
  // A newer server can return codes that this build does not know.
  return ({ code, message, retryAfterSeconds }) =>
    code === 'LIMIT_REACHED' && retryAfterSeconds
      ? limits.retry(Math.ceil(retryAfterSeconds / 60))
      : ((t as Partial<typeof t>)[code] ?? message)
}

/** Returns a function that translates a failed request. */
export function useRequestErrorText(): (error: CombinedError) => string {
  const t = useRequestErrorTexts()
  return (error) => {
    if (error.networkError !== undefined) return navigator.onLine ? t.unreachable : t.offline
    const code = errorCode(error)
    return code !== null && code in t ? t[code as keyof typeof t] : t.other
  }
}

/**
 * Returns the code of the first GraphQL error, such as RATE_LIMITED; null if there was no response.
 */
export function errorCode(error: CombinedError): string | null {
  const code = error.graphQLErrors[0]?.extensions.code
  return typeof code === 'string' ? code : null
}
